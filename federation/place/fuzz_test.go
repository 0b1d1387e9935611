package place

import (
	"strings"
	"testing"

	"fsub/federation/demand"
)

func TestConstraint(t *testing.T) {
	for _, c := range []struct {
		text, has, elsewhere string
		want                 verdict
	}{
		{"", "", "", yes},
		{"ib", "ib", "", yes},
		{"ib", "", "", no},
		{"ib&h100", "ib,h100", "", yes},
		{"ib,h100", "ib", "", no},
		{"ib|h100", "h100", "", yes},
		{"a|b&c", "b", "", no}, // & binds closer
		{"a|b&c", "a", "", yes},
		{"(a|b)&c", "a,c", "", yes},
		{"(a|b)&c", "a", "", no},
		{"[a|b]", "b", "", yes},
		{"a*2", "a", "", yes},
		{"a*2", "b", "a", unknown}, // the others of the partition have it
		{"a*2", "b", "", no},
		{"[a*2&b*1]", "a", "b", unknown},
		{"[a*2&b*1]", "a", "", no},
		{"a&", "a", "", yes}, // as 24.11 takes it
		{"((a))", "a", "", yes},
		{"[(a|b)*2]", "c", "b", unknown},
	} {
		e, err := demand.ParseConstraint(c.text)
		if err != nil {
			t.Errorf("%q was not understood", c.text)
			continue
		}
		in := func(list string) func(string) bool {
			return func(f string) bool { return strings.Contains(","+list+",", ","+f+",") }
		}
		if got := eval(e, in(c.has), in(c.elsewhere)); got != c.want {
			t.Errorf("%q on nodes with %q (others %q) = %v, want %v", c.text, c.has, c.elsewhere, got, c.want)
		}
	}
}

func FuzzConstraint(f *testing.F) {
	for _, s := range []string{"a&b|c", "[a*2&b*1]", "(a|b)&c", "a&", "a,b", "((", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := demand.ParseConstraint(s)
		if err != nil {
			return
		}
		all, none := func(string) bool { return true }, func(string) bool { return false }
		if v := eval(c, all, all); v != yes {
			t.Fatalf("nodes with every feature do not satisfy %q: %v", s, v)
		}
		if v := eval(c, none, none); c != nil && v != no {
			t.Fatalf("nodes without features satisfy %q: %v", s, v)
		}
		if missing(c, all) != "" || c != nil && missing(c, none) == "" {
			t.Fatalf("missing features of %q: %q", s, missing(c, none))
		}
	})
}
