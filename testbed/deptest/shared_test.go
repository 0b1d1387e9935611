package deptest

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ownedBy are the structs of federation/controller that a million jobs share as long as nothing is written to them, each with the method of a job that makes it
// the job's own.
var ownedBy = map[string]string{"tried": "try", "family": "join", "hindered": "hinder"}

// TestSharedStateIsMadeOwn: what jobs share is only written to by way of the method that makes it a job's own. "j.busy = true" would write to every job.
func TestSharedStateIsMadeOwn(t *testing.T) {
	fset, files, info := checked(t, "../../federation/controller")
	n := 0
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			var written []ast.Expr
			switch s := node.(type) {
			case *ast.AssignStmt:
				written = s.Lhs
			case *ast.IncDecStmt:
				written = []ast.Expr{s.X}
			}
			for _, e := range written {
				field, ok := e.(*ast.SelectorExpr)
				if !ok || info.Selections[field] == nil {
					continue
				}
				n++
				if through := embedded(info.Selections[field]); ownedBy[through] != "" {
					t.Errorf("%s: %s is written to by way of a job, which may share it: write %s().%s", fset.Position(field.Pos()), through, ownedBy[through], field.Sel.Name)
				}
			}
			return true
		})
	}
	if n < 300 {
		t.Errorf("only %d writes to fields were found", n)
	}
}

// embedded is the embedded field that a selection goes through last; "": none.
func embedded(s *types.Selection) (name string) {
	at := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := at.Underlying().(*types.Pointer); ok {
			at = p.Elem()
		}
		field := at.Underlying().(*types.Struct).Field(i)
		name, at = field.Name(), field.Type()
	}
	return name
}

// checked parses and checks the types of a package, without its tests.
func checked(t *testing.T, dir string) (*token.FileSet, []*ast.File, *types.Info) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", dir).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			exports[path] = file
		}
	}
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("go list names no export data of %s", path)
		}
		return os.Open(exports[path])
	})}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := conf.Check(dir, fset, files, info); err != nil {
		t.Fatal(err)
	}
	return fset, files, info
}
