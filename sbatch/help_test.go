package sbatch

import (
	"slices"
	"strings"
	"testing"
)

// TestHelpListsAll holds that every option stands in --help once, under its heading, or among those that are refused.
func TestHelpListsAll(t *testing.T) {
	help := helpText()
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
		if own := map[string]int{"wrap": 2}[o.name]; n != max(1, own) { // the usage tells of --wrap
			t.Errorf("--%s stands %d times in the help", o.name, n)
		}
	}
	for _, h := range headings {
		for _, name := range h.options {
			if !slices.ContainsFunc(options[:], func(o option) bool { return o.name == name }) {
				t.Errorf("%s: there is no option %s", h.text, name)
			}
		}
	}
	_, constraint, _ := strings.Cut(help, "\nConstraint options:\n")
	if first, _, _ := strings.Cut(constraint, "\n\n"); !strings.Contains(first, "--nodelist=value") {
		t.Errorf("--nodelist is not among the constraint options:\n%s", first)
	}
}
