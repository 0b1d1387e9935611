package deptest

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// A floor of the map has a table of at most so many rows, each with at most so many characters that say what a package is for.
const (
	mostRows = 20
	mostSaid = 130
)

// TestMap: each package stands once in the map of ARCHITECTURE.md, and nothing else does. Packages of one folder, and those below the row's first, may be
// named without it: "cloud/pmi, pmi/pmix".
func TestMap(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Map\n")
	chapter, _, _ := strings.Cut(rest, "\n## ")
	shown := map[string]int{}
	for floor := range strings.SplitSeq(chapter, "\n### ") {
		rows := 0
		for line := range strings.Lines(floor) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if !strings.HasPrefix(line, "| ") || len(cells) != 3 || cells[0] == "| package" {
				continue
			}
			rows++
			if len(cells[1]) > mostSaid {
				t.Errorf("%d characters, at most %d: %s", len(cells[1]), mostSaid, line)
			}
			for _, pkg := range packagesOf(strings.TrimPrefix(cells[0], "| ")) {
				shown[pkg]++
			}
		}
		if rows > mostRows {
			t.Errorf("%d rows, at most %d: %.30s", rows, mostRows, floor)
		}
	}
	out, err := exec.Command("go", "list", "fsub/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		pkg = strings.TrimPrefix(pkg, "fsub/")
		if n := shown[pkg]; n != 1 && !helper(pkg) {
			t.Errorf("%s stands %d times in the map of ARCHITECTURE.md, want once", pkg, n)
		}
		delete(shown, pkg)
	}
	for pkg := range shown {
		if _, err := os.Stat("../../" + pkg); err != nil {
			t.Errorf("the map of ARCHITECTURE.md has %s, and there is no such folder", pkg)
		}
	}
}

// helper reports whether only tests use a package, or only its parent does, which names it in its comment.
func helper(pkg string) bool {
	return strings.HasSuffix(path.Base(pkg), "test") && !strings.HasPrefix(pkg, "testbed/") && pkg != "cloud/providertest" && pkg != "cloud/cloudtest" ||
		strings.Count(pkg, "/") > 1 && strings.HasPrefix(pkg, "testbed/")
}

// packagesOf are the packages of a row: "cloud/pmi, pmi/pmix" or "cloud/aws, azure".
func packagesOf(cell string) []string {
	names := strings.Split(cell, ", ")
	first, all := names[0], names[:1]
	for _, name := range names[1:] {
		at := path.Dir(first)
		for _, folder := range []string{first, path.Dir(first), path.Dir(path.Dir(first))} {
			if _, err := os.Stat("../../" + path.Join(folder, name)); err == nil {
				at = folder
				break
			}
		}
		all = append(all, path.Join(at, name))
	}
	return slices.Compact(all)
}
