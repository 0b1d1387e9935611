package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	separators = regexp.MustCompile(`&&|;|\||\$\(|\)`)
	subcommand = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	target     = regexp.MustCompile(`^[a-z-]+$`)
)

// checkCommand checks that what a line runs is there. Where all is false only commands of ours are looked at: the line is code in running text, and may be
// anything.
func (w *world) checkCommand(line string, all bool) {
	line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
	if all {
		if out, err := exec.Command("bash", "-n", "-c", line).CombinedOutput(); err != nil {
			w.t.Errorf("%s: %s: %s", w.at, line, out)
		}
	}
	for _, part := range separators.Split(line, -1) {
		words := strings.Fields(strings.Trim(part, `"& `))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch name := strings.TrimPrefix(words[0], "bin/"); {
		case name == "make":
			w.checkMake(words[1:])
		case name == "fed":
			w.checkFed(words[1:])
		case name == "go" && len(words) > 2 && words[1] == "run", strings.HasPrefix(name, "testbed/"):
			path := name
			if name == "go" {
				path = words[2]
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				w.t.Errorf("%s: %s: %v", w.at, line, err)
			}
		case all && !slices.Contains([]string{"fsub", "eval", "sudo", "az", "gcloud", "aws", "sed", "chmod", "createuser", "head", "createdb", "pg_dump", "pg_restore", "apt", "cp", "install", "ln", "mkdir", "systemctl"}, name):
			w.t.Errorf("%s: %s: how is this tested? Run it in a session, or teach this test the command", w.at, line)
		}
	}
}

// checkMake checks targets of the Makefile.
func (w *world) checkMake(args []string) {
	for _, arg := range args {
		if !target.MatchString(arg) {
			continue
		}
		cmd := exec.Command("make", "-n", arg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Errorf("%s: make %s: %v\n%s", w.at, arg, err, out)
		}
	}
}

// checkFed checks that there is such a subcommand of fed, and that it has the options shown.
func (w *world) checkFed(words []string) {
	var path, options []string
	for _, word := range words {
		word = strings.Trim(word, `[]`)
		switch {
		case strings.HasPrefix(word, "-") && len(word) > 1:
			name, _, _ := strings.Cut(word, "=")
			options = append(options, name)
		case len(options) == 0 && subcommand.MatchString(word):
			path = append(path, word)
		}
	}
	out, err := exec.Command(filepath.Join(bin, "fed"), append(slices.Clone(path), "--help")...).CombinedOutput()
	usage := strings.TrimSpace("fed " + strings.Join(path, " "))
	known := false
	for n := len(path); n >= 0 && !known; n-- { // what follows a command may be its operand, if it takes one
		after := `(\s|$)`
		if n < len(path) {
			after = ` \[?[A-Z]`
		}
		known = regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(strings.TrimSpace("fed "+strings.Join(path[:n], " "))) + after).Match(out)
	}
	if err != nil || !known {
		w.t.Errorf("%s: there is no %s: %v\n%s", w.at, usage, err, out)
		return
	}
	for _, o := range options {
		if !regexp.MustCompile(regexp.QuoteMeta(o) + `\b`).Match(out) {
			w.t.Errorf("%s: %s has no option %s:\n%s", w.at, usage, o, out)
		}
	}
}

// README.md is one page of use, not the manual.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, want 120 at most: details belong in docs/", n)
	}
}

// TestIndex: docs/README.md leads to each page.
func TestIndex(t *testing.T) {
	index, err := os.ReadFile(docs + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		if name := filepath.Base(p.path); name != "README.md" && !strings.Contains(string(index), "]("+name) {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

// TestSite: the pages become a site; a link to a heading that is not there is an error.
func TestSite(t *testing.T) {
	out, err := exec.Command("../../deploy/site/make.sh", filepath.Join(t.TempDir(), "site")).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 75 {
		t.Skipf("SKIPPED: Zensical cannot be had from PyPI now: %s", out)
	} else if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Links between the pages lead somewhere.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, p := range pages(t) {
		text, err := os.ReadFile(p.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p.path), m[1])); err != nil {
				t.Errorf("%s: %v", filepath.Base(p.path), err)
			}
		}
	}
}
