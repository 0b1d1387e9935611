package provider

import "testing"

// TestChoose: the very name counts before patterns, the longer of these before the shorter; what fits no wanted type is found.
func TestChoose(t *testing.T) {
	prices := map[string]int{"p5.48xlarge": 1, "p5.*": 2, "p*": 3, "c6i.large": 4}
	for typ, want := range map[string]int{"p5.48xlarge": 1, "p5.4xlarge": 2, "p5en.48xlarge": 3, "c6i.large": 4, "c6i.xlarge": 0} {
		if got, ok := Choose(prices, typ); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, want %d", typ, got, want)
		}
	}
	for _, c := range []struct {
		entry, wanted string
		fits          bool
	}{
		{"e2-standard-2", "e2-standard-*", true}, {"e2-*", "e2-standard-2", true}, {"e2-*", "*-standard-2", true}, {"p5*", "p5.*", true}, {"a*b", "ab*", true}, {"x", "x", true},
		{"e2-standard-2", "e2-standard-4", false}, {"e2-*", "n2-*", false}, {"p5.*", "p5", false}, {"a*b", "*c", false}, {"", "x", false},
	} {
		if got := Unused(map[string]bool{c.entry: true}, []string{"other", c.wanted}); (got == "") != c.fits && c.entry != "" {
			t.Errorf("%q and %q: unused %q", c.entry, c.wanted, got)
		}
		if overlap(c.entry, c.wanted) != c.fits || overlap(c.wanted, c.entry) != c.fits {
			t.Errorf("%q and %q overlap: %t", c.entry, c.wanted, !c.fits)
		}
	}
}
