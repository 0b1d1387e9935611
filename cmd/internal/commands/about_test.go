package commands

import (
	"strings"
	"testing"

	"fsub/sbatch/getopt"
)

// TestEveryOptionIsDescribed: each option of each command has one sentence, and a word for its value if it takes one.
func TestEveryOptionIsDescribed(t *testing.T) {
	for _, name := range append([]string{"fsub", "fsub login"}, Shims()...) {
		a := About(name)
		if a.Name != name || a.Does == "" || len(a.Usage) == 0 || a.Text == "" {
			t.Errorf("%s: not described: %+v", name, a)
		}
		seen := map[string]bool{}
		for _, g := range a.Groups {
			for i := range g.Options {
				d := &g.Options[i]
				form := d.Form()
				if d.Help == "" || len(d.Help) > 130 || strings.HasSuffix(d.Help, ".") {
					t.Errorf("%s %s: want one sentence of at most 130 letters without a period: %q", name, form, d.Help)
				}
				if (d.Arg == getopt.NoArg) != (d.Value == "") {
					t.Errorf("%s %s: value %q", name, form, d.Value)
				}
				if seen[form] {
					t.Errorf("%s: %s is there twice", name, form)
				}
				seen[form] = true
			}
		}
		for _, g := range a.Words {
			for _, d := range g.Options {
				if d.Value == "" || d.Help == "" {
					t.Errorf("%s: %+v is not described", name, d)
				}
			}
		}
		help := a.Help()
		for line := range strings.Lines(help) {
			if len(line) > 101 && !strings.HasPrefix(line, "Usage: ") {
				t.Errorf("%s --help: longer than 100 columns: %s", name, line)
			}
		}
		for _, word := range append(a.Ignored, a.Refused...) {
			if !strings.Contains(help, word) {
				t.Errorf("%s --help lacks %s", name, word)
			}
		}
	}
}

// TestKnownValues: what is said of the values of an option is said of one that there is.
func TestKnownValues(t *testing.T) {
	options := map[string]bool{}
	for _, name := range append([]string{"fsub", "fsub login"}, Shims()...) {
		for _, g := range About(name).Groups {
			for _, d := range g.Options {
				options[d.Name], options[name+" "+d.Name] = true, true
				for _, o := range d.Also {
					options[o.Name] = true
				}
			}
		}
	}
	for of, kind := range values {
		if !options[of] {
			t.Errorf("values of %s: no command has this option", of)
		}
		if fixed := strings.HasPrefix(kind, "="); kind != "" && !fixed && kind != "files" && kind != "dirs" && asked[kind] == nil {
			t.Errorf("values of %s: nobody is asked for %s", of, kind)
		}
	}
}
