package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fsub/cmd/fed/internal/manual"
	"fsub/cmd/internal/commands"
	"fsub/sbatch/getopt"
)

// made are the pages and scripts, in a directory too.
func made(t *testing.T) (map[string][]byte, string) {
	t.Helper()
	reference, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	files := manual.Files(newCommand(), string(reference), time.Unix(1e9, 0).UTC(), "v0.0.0")
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files, dir
}

// judge is a program that says whether a page or script is well formed. CI has it.
func judge(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%v: testbed/setup/setup.sh installs it", err)
	} else if err != nil {
		t.Skipf("SKIPPED: there is no %s to judge by", name)
	}
	return path
}

func TestPagesAreWellFormed(t *testing.T) {
	mandoc := judge(t, "mandoc")
	_, dir := made(t)
	pages, _ := filepath.Glob(dir + "/man/*.[1-8]")
	if len(pages) < 40 {
		t.Fatalf("%d pages", len(pages))
	}
	out, err := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput()
	if err != nil {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}

func TestScriptsAreWellFormed(t *testing.T) {
	_, dir := made(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path := judge(t, shell)
			scripts, _ := filepath.Glob(dir + "/completions/" + shell + "/*")
			if len(scripts) != 3 {
				t.Fatalf("%v", scripts)
			}
			for _, script := range scripts {
				if out, err := exec.Command(path, "-n", script).CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("%s -n %s: %v\n%s", shell, script, err, out)
				}
			}
		})
	}
}

var (
	tagged = regexp.MustCompile(`(?m)^\.TP\n(.*)$`)
	option = regexp.MustCompile(`--?[A-Za-z][A-Za-z0-9_-]*`)
)

// optionsOf are the options that a page has entries for.
func optionsOf(page []byte) map[string]bool {
	all := map[string]bool{}
	for _, m := range tagged.FindAllStringSubmatch(string(page), -1) {
		if !strings.HasPrefix(m[1], `\fB\-`) {
			continue
		}
		text := regexp.MustCompile(`\\fI[^\\]*(\\[^f][^\\]*)*\\fP`).ReplaceAllString(m[1], "") // values
		for _, o := range option.FindAllString(strings.ReplaceAll(text, `\-`, "-"), -1) {
			all[o] = true
		}
	}
	return all
}

// same holds that the entries of a page are the options of its program.
func same(t *testing.T, name string, page []byte, want map[string]bool) {
	t.Helper()
	got := optionsOf(page)
	for o := range want {
		if !got[o] {
			t.Errorf("%s lacks %s", name, o)
		}
	}
	for o := range got {
		if !want[o] {
			t.Errorf("%s has %s, which the program lacks", name, o)
		}
	}
}

// TestPagesHaveEveryOption walks the tables: each option of fsub and of Slurm's commands has an entry and is completed by each shell, and no page has another.
func TestPagesHaveEveryOption(t *testing.T) {
	files, _ := made(t)
	for _, name := range append([]string{"fsub"}, commands.Shims()...) {
		page, script := "man/"+name+".1", "fsub-shims"
		if name == "fsub" {
			script = "fsub"
		}
		want := map[string]bool{}
		about := commands.About(name)
		for _, g := range about.Groups {
			for _, d := range g.Options {
				for _, o := range append([]getopt.Option{d.Option}, d.Also...) {
					if o.Short != 0 {
						want["-"+string(rune(o.Short))] = true
					}
					if o.Name != "" {
						want["--"+o.Name] = true
						completedBy(t, files, script, name, o.Name)
					}
				}
			}
		}
		if name == "fsub" {
			for _, d := range commands.About("fsub login").Groups[0].Options {
				want["--"+d.Name] = true
			}
		}
		same(t, page, files[page], want)
		for _, o := range append(about.Ignored, about.Refused...) {
			if !strings.Contains(strings.ReplaceAll(string(files[page]), `\-`, "-"), o) {
				t.Errorf("%s does not say that %s changes nothing", page, o)
			}
		}
	}
}

func completedBy(t *testing.T, files map[string][]byte, script, command, option string) {
	t.Helper()
	for file, want := range map[string]string{"bash/" + script: " --" + option, "zsh/_" + script: "'*--" + option, "fish/" + script + ".fish": "complete -c " + command + " "} {
		text := files["completions/"+file]
		if !bytes.Contains(bytes.ReplaceAll(text, []byte("='"), []byte("= ")), []byte(want)) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	if !regexp.MustCompile(`(?m)^complete -c ` + command + `( -s .)? -l ` + option + ` `).Match(files["completions/fish/"+script+".fish"]) {
		t.Errorf("fish does not complete %s --%s", command, option)
	}
}

// TestFedsPagesHaveEveryFlag: each command of fed has a page, with each of its flags.
func TestFedsPagesHaveEveryFlag(t *testing.T) {
	files, _ := made(t)
	root := newCommand()
	for _, noun := range root.Commands() {
		name := "man/fed-" + noun.Name() + ".8"
		if noun.Hidden || noun.Name() == "help" {
			if files[name] != nil {
				t.Errorf("%s is of a command that no help lists", name)
			}
			continue
		}
		if !bytes.Contains(files["man/fed.8"], []byte(strings.ReplaceAll("fed-"+noun.Name(), "-", `\-`))) {
			t.Errorf("fed(8) does not name fed-%s(8)", noun.Name())
		}
		want := map[string]bool{}
		walk(noun, func(c *cobra.Command) {
			if c.Runnable() && !bytes.Contains(files[name], []byte(strings.ReplaceAll(c.CommandPath(), "-", `\-`))) {
				t.Errorf("%s lacks %s", name, c.CommandPath())
			}
			if !c.Runnable() {
				return
			}
			for _, set := range []*pflag.FlagSet{c.Flags(), c.InheritedFlags()} {
				set.VisitAll(func(f *pflag.Flag) {
					if f.Name == "help" || f.Hidden {
						return
					}
					if want["--"+f.Name] = true; f.Shorthand != "" {
						want["-"+f.Shorthand] = true
					}
				})
			}
		})
		same(t, name, files[name], want)
	}
}

func walk(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			walk(sub, f)
		}
	}
}

// TestConfigurationHasAPage: fed.yaml(5) has each key of the reference.
func TestConfigurationHasAPage(t *testing.T) {
	files, _ := made(t)
	page := strings.ReplaceAll(string(files["man/fed.yaml.5"]), `\-`, "-")
	reference, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile("(?m)^- `([^`]+)`").FindAllStringSubmatch(string(reference), -1)
	for _, m := range keys {
		if !strings.Contains(page, ".TP\n\\fB"+m[1]+"\\fP") {
			t.Errorf("fed.yaml(5) lacks %s", m[1])
		}
	}
	if n := strings.Count(page, "\n.TP\n"); n != len(keys) || n < 100 {
		t.Errorf("fed.yaml(5) has %d entries, the reference %d", n, len(keys))
	}
}

// TestPagesAreReproducible: nothing of a page depends on when or where it is made.
func TestPagesAreReproducible(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	if date, err := manual.Date(); err != nil || date.Unix() != 1e9 {
		t.Errorf("%v, %v", date, err)
	}
	one, _ := made(t)
	other, _ := made(t)
	for _, name := range slices.Sorted(maps.Keys(one)) {
		if !bytes.Equal(one[name], other[name]) {
			t.Errorf("%s differs", name)
		}
	}
}
