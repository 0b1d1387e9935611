package sbatch

import (
	"slices"
	"strings"
	"testing"

	"fsub/sbatch/getopt"
)

// TestHelpListsAll holds that every option stands in --help once, with a value where it takes one and a few words of help, or among those
// that are refused.
func TestHelpListsAll(t *testing.T) {
	help := helpText()
	described := map[string]int{}
	for _, h := range headings {
		if !slices.IsSortedFunc(h.options, func(a, b describedOption) int { return strings.Compare(a.name, b.name) }) &&
			!strings.HasPrefix(h.text, "Federation") {
			t.Errorf("%s is not in the order of the alphabet", h.text)
		}
		for _, d := range h.options {
			described[d.name]++
			if d.help == "" || len(d.help) > 90 {
				t.Errorf("--%s: want a few words of help, got %q", d.name, d.help)
			}
		}
	}
	want := map[string]bool{}
	for i := range options {
		o := &options[i]
		if !o.in(Following) {
			continue
		}
		n := 0
		for _, word := range strings.FieldsFunc(help, func(r rune) bool { return strings.ContainsRune(" =[\n", r) }) {
			if word == "--"+o.name {
				n++
			}
		}
		// The usage names --wrap, and some options are explained by another.
		if more := map[string]int{"wrap": 1, "clusters": 1, "ntasks-per-node": 1, "ntasks-per-gpu": 1, "constraint": 1, "nodes": 1}[o.name]; n != 1+more {
			t.Errorf("--%s stands %d times in the help, want %d", o.name, n, 1+more)
		}
		if o.class == refused {
			continue
		}
		want[o.name] = true
		for _, h := range headings {
			for _, d := range h.options {
				if d.name == o.name && (o.arg == getopt.NoArg) != (d.value == "") {
					t.Errorf("--%s: value %q", o.name, d.value)
				}
			}
		}
	}
	want["fed-key"], want["fed-explain"] = true, true // which the command line alone has
	for _, o := range fedOptions {
		want["fed-"+o.name] = true
		if !strings.Contains(help, "FSUB_"+strings.ReplaceAll(strings.ToUpper(o.name), "-", "_")) {
			t.Errorf("the help lacks the variable of --fed-%s", o.name)
		}
	}
	for name := range want {
		if described[name] != 1 {
			t.Errorf("--%s is described %d times", name, described[name])
		}
	}
	for name := range described {
		if !want[name] {
			t.Errorf("--%s is described, and there is no such option", name)
		}
	}
	for line := range strings.Lines(help) {
		if len(line) > 101 {
			t.Errorf("longer than 100 columns: %s", line)
		}
	}
	_, constraint, _ := strings.Cut(help, "\nConstraint options:\n")
	if first, _, _ := strings.Cut(constraint, "\n\n"); !strings.Contains(first, "  -w, --nodelist=nodes            nodes that the job must have\n") {
		t.Errorf("--nodelist is not among the constraint options:\n%s", first)
	}
}
