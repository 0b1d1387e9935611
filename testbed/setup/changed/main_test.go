package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is a small one like ours: a program, what it is made of, a test that runs it, and tests that read files of others.
var module = map[string]string{
	"go.mod":               "module fsub\n\ngo 1.24\n",
	"Makefile":             "test:\n",
	"README.md":            "# fsub\n",
	"NOTES.md":             "nobody reads this\n",
	"base/base.go":         "package base\n\nconst Name = \"base\"\n",
	"base/base_test.go":    "package base\n",
	"base/testdata/x":      "x\n",
	"base/deep/deep.go":    "package deep\n",
	"mid/mid.go":           "package mid\n\nimport \"fsub/base\"\n\nconst Name = base.Name\n",
	"mid/mid_test.go":      "package mid\n",
	"cmd/fed/main.go":      "package main\n\nimport _ \"fsub/mid\"\n\nfunc main() {}\n",
	"cmd/fed/remote.go":    "//go:build remote\n\npackage main\n\nimport _ \"fsub/base/deep\"\n",
	"cmd/fed/read_test.go": "package main\n\nconst readme = \"../../README.md\"\n",
	"program/program.go":   "package program\n\nconst built = \"fsub/cmd/\" + \"fed\"\n",
	"spine/spine_test.go":  "package spine_test\n\nimport _ \"fsub/program\"\n",
	"other/other.go":       "package other\n",
	"other/other_test.go":  "package other_test\n\nimport _ \"fsub/helper\"\n\nconst old = \"../base/testdata\"\n",
	"helper/helper.go":     "package helper\n",
	"scripts/apt.sh":       "true\n",
	"untested/untested.go": "package untested\n",
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReached(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	dir := t.TempDir()
	write(t, dir, module)
	g, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := "base cmd/fed mid other spine"
	for _, c := range []struct{ files, want string }{
		{"", ""},
		{"base/base.go", "base cmd/fed mid spine"},
		{"base/base_test.go", "base"},
		{"base/testdata/x", "base cmd/fed mid other spine"},
		{"base/deep/deep.go", "cmd/fed spine"}, // with the tag remote
		{"base/deep/data/y", "cmd/fed spine"},
		{"mid/mid.go", "cmd/fed mid spine"},
		{"mid/gone.go", "cmd/fed mid spine"},
		{"cmd/fed/main.go", "cmd/fed spine"},
		{"cmd/fed/read_test.go", "cmd/fed"},
		{"program/program.go", "spine"},
		{"helper/helper.go", "other"},
		{"README.md", "cmd/fed"},
		{"NOTES.md LICENSE .gitignore", ""},
		{"untested/untested.go", ""},
		{"helper/helper.go mid/mid_test.go", "mid other"},
		{"scripts/apt.sh", all},
		{"Makefile", all},
		{"go.sum", all},
	} {
		var got []string
		for _, p := range g.reachedBy(strings.Fields(c.files)) {
			got = append(got, strings.TrimPrefix(p, "fsub/"))
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s reaches %q, want %q", c.files, got, want)
		}
	}
}

// What differs from main counts, whether or not it is committed or known to git.
func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, module)
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-qm", "one")
	git("checkout", "-qb", "work")
	write(t, dir, map[string]string{"mid/mid.go": "package mid\n"})
	git("commit", "-qam", "two")
	git("checkout", "-q", "main")
	write(t, dir, map[string]string{"other/other.go": "package other // moved on\n"})
	git("commit", "-qam", "main moved on")
	git("checkout", "-q", "work")
	git("rm", "-q", "NOTES.md")
	write(t, dir, map[string]string{"README.md": "changed\n", "new/ä new.go": "package new\n"})
	t.Chdir(filepath.Join(dir, "base"))
	got, err := changedFiles()
	if want := []string{"NOTES.md", "README.md", "mid/mid.go", "new/ä new.go"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
