package place

import (
	"strings"
	"testing"

	"fsub/sbatch"
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
		e, ok := parseConstraint(c.text)
		if !ok {
			t.Errorf("%q was not understood", c.text)
			continue
		}
		in := func(list string) func(string) bool {
			return func(f string) bool { return strings.Contains(","+list+",", ","+f+",") }
		}
		if got := e.eval(in(c.has), in(c.elsewhere)); got != c.want {
			t.Errorf("%q on nodes with %q (others %q) = %v, want %v", c.text, c.has, c.elsewhere, got, c.want)
		}
	}
	for _, bad := range []string{"&", "|a", "(a", "a)", "a*", "a*b", "[a|b", "a b*-1", "a**2", strings.Repeat("(", 1000) + "a"} {
		if _, ok := parseConstraint(bad); ok {
			t.Errorf("%q was understood", bad)
		}
	}
}

func TestParseGRES(t *testing.T) {
	for text, want := range map[string][]gresAsk{
		"gpu":                  {{"gpu", "", 1}},
		"gpu:2":                {{"gpu", "", 2}},
		"gpu:h100":             {{"gpu", "h100", 1}},
		"gpu:h100:2,nvme:1":    {{"gpu", "h100", 2}, {"nvme", "", 1}},
		"gres/gpu:h100=2":      {{"gpu", "h100", 2}},
		"gres:gpu:1":           {{"gpu", "", 1}},
		"gpu=1":                {{"gpu", "", 1}},
		"gpu:0,none":           nil,
		"shard:1k":             {{"shard", "", 1024}},
		"gpu:a100:1,gpu:h100:": nil,
	} {
		got, ok := parseGRES(text)
		if !ok {
			got = nil
		}
		if len(got) != len(want) {
			t.Errorf("%q = %v, want %v", text, got, want)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q = %v, want %v", text, got, want)
			}
		}
	}
}

func TestArraySize(t *testing.T) {
	for text, want := range map[string][2]int{
		"": {1, 1}, "0-3": {4, 4}, "0-10:2%3": {6, 3}, "1,3,5": {3, 3}, "1-3,7%1": {4, 1}, "[0-3]": {4, 4}, "[1-3]%2": {3, 2},
		"0-9%0": {10, 10}, "5": {1, 1}, "3-1": {1, 1}, "x": {1, 1}, "0-1%9": {2, 2},
	} {
		if n, width := arraySize(text); n != want[0] || width != want[1] {
			t.Errorf("%q = %d, %d at once; want %v", text, n, width, want)
		}
	}
}

func FuzzConstraint(f *testing.F) {
	for _, s := range []string{"a&b|c", "[a*2&b*1]", "(a|b)&c", "a&", "a,b", "((", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := parseConstraint(s)
		if !ok {
			return
		}
		all, none := func(string) bool { return true }, func(string) bool { return false }
		if v := c.eval(all, all); v != yes {
			t.Fatalf("nodes with every feature do not satisfy %q: %v", s, v)
		}
		if v := c.eval(none, none); c != nil && v != no {
			t.Fatalf("nodes without features satisfy %q: %v", s, v)
		}
		if c.missing(all) != "" || c != nil && c.missing(none) == "" {
			t.Fatalf("missing features of %q: %q", s, c.missing(none))
		}
	})
}

// However GPUs are asked for, as another kind there are FACTOR times as many and the rest stays.
func FuzzAccelerated(f *testing.F) {
	f.Add("gpu:h100:2,nvme:1", "4", "a100:2")
	f.Add("nvme:1,gpu", "h100:2", "a100:1.5")
	f.Fuzz(func(t *testing.T, gres, gpus, as string) {
		kind, factor, ok := accelerator(as)
		if !ok {
			return
		}
		before := sbatch.Spec{GRES: gres, GPUs: gpus}
		after := accelerated(before, as)
		count := func(asks []gresAsk, gpu bool) (n int) {
			for _, a := range asks {
				if (a.Name == "gpu") == gpu {
					n += a.Count
				}
			}
			return n
		}
		old, okGRES := parseGRES(gres)
		now, _ := parseGRES(after.GRES)
		if okGRES && (count(now, false) != count(old, false) || count(now, true) != scaled(count(old, true), factor)) {
			t.Fatalf("%q as %q is %q", gres, as, after.GRES)
		}
		old, okGPUs := parseGPUs(gpus)
		now, _ = parseGPUs(after.GPUs)
		if okGPUs && len(old) > 0 && (len(now) != 1 || now[0].Type != kind || now[0].Count != scaled(count(old, true), factor)) {
			t.Fatalf("%q as %q is %q", gpus, as, after.GPUs)
		}
	})
}

func FuzzGRES(f *testing.F) {
	f.Add("gpu:h100:2,nvme:1")
	f.Add("4")
	f.Fuzz(func(t *testing.T, s string) {
		for _, parse := range []func(string) ([]gresAsk, bool){parseGRES, parseGPUs} {
			asks, _ := parse(s)
			for _, a := range asks {
				if a.Count <= 0 || a.Name == "" {
					t.Fatalf("%q asks for %+v", s, a)
				}
			}
		}
		if n, width := arraySize(s); n < 1 || width < 1 || width > n {
			t.Fatalf("array %q has %d tasks, %d at once", s, n, width)
		}
	})
}
