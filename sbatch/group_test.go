package sbatch

import (
	"slices"
	"strings"
	"testing"
)

func TestInvalidGroup(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "sweep-7": true, "sweep/lr=3": false, "sweep/lr-3": true, "2026-11-29T10:00:00+01:00": true, "alice@home": true, strings.Repeat("x", MaxGroup): true,
		"": false, strings.Repeat("x", MaxGroup+1): false, "none": false, "none/of": true, "-a": false, "a-": false, "/a": false, "a/": false, "a//b": false,
		"a b": false, "a,b": false, "a*": false, "\x1b[31mx": false, "größe": false, "<b>": false, "a\nb": false,
	} {
		if why := InvalidGroup(name); (why == "") != ok || len(why) > 400 {
			t.Errorf("%q: %s", name, why)
		}
	}
}

func TestGroups(t *testing.T) {
	for name, want := range map[string]string{"": "none", "a": "a", "a/b/c": "a/b/c a/b a"} {
		if got := Groups(name); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q", name, got)
		}
	}
}
