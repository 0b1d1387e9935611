package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clouds are the names in the register of clouds (cloud/clouds): each is a package of that name under cloud, and a section of a site's configuration.
func clouds(t *testing.T) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../cloud/clouds/sections.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			tag, _ := strconv.Unquote(f.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
			names = append(names, name)
		}
		return true
	})
	if len(names) < 5 {
		t.Fatalf("only %v are in the register", names)
	}
	return names
}

// TestProvidersKnowNoDriver: a cloud's package knows its contract, and nothing of the daemon that uses it.
func TestProvidersKnowNoDriver(t *testing.T) {
	for _, name := range clouds(t) {
		out, err := exec.Command("go", "list", "-deps", "fsub/cloud/"+name).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for dep := range strings.Lines(string(out)) {
			switch dep = strings.TrimSpace(dep); dep {
			case "fsub/cloud", "fsub/cloud/clouds", "fsub/federation/controller", "fsub/federation/store", "fsub/federation/api":
				t.Errorf("fsub/cloud/%s depends on %s: a provider does what it is asked, and keeps nothing that must survive", name, dep)
			}
		}
	}
}

// TestCloudsAreNamedOnce: outside its folder and the register nobody imports a cloud, or knows its name.
func TestCloudsAreNamedOnce(t *testing.T) {
	names := clouds(t)
	mayName := func(path, name string) bool {
		switch {
		case strings.HasPrefix(path, "cloud/"+name+"/"), strings.HasPrefix(path, "cloud/clouds/"):
			return true
		case strings.HasPrefix(path, "cloud/google/"), strings.HasPrefix(path, "cloud/prices/"): // what two of them share; the tables and lists of prices
			return true
		case path == "cloud/agent/metadata.go": // the agent links no cloud's package: it knows the metadata services alone
			return true
		}
		return name == "tpu" || name == "local" // also a generic resource; also a word
	}
	mayImport := func(path, name string) bool {
		return strings.HasPrefix(path, "cloud/"+name+"/") || strings.HasPrefix(path, "cloud/clouds/") || name == "local" && path == "cmd/fed/internal/daemon/settle.go" // the reaper's command
	}
	seen := 0
	for _, root := range []string{"accounting", "cloud", "cmd", "federation", "sbatch", "slurm", "topology"} {
		err := filepath.WalkDir("../../"+root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			path, _ := filepath.Rel("../..", file)
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, i := range parsed.Imports {
				name, found := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "fsub/cloud/")
				if found && slices.Contains(names, name) {
					seen++
					if !mayImport(path, name) {
						t.Errorf("%s imports the cloud %s: ask for a kind.Settings or a provider.Provider instead", path, name)
					}
				}
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if name, _ := strconv.Unquote(lit.Value); slices.Contains(names, name) && !mayName(path, name) {
						t.Errorf("%s names the cloud %s: put what differs into kind.Facts", path, name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < len(names) {
		t.Errorf("only %d imports of clouds were seen", seen)
	}
}
