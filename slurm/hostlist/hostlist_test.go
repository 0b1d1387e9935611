package hostlist

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExpand(t *testing.T) {
	for in, want := range map[string]string{
		"":                  "",
		"n1":                "n1",
		"n[1-3]":            "n1 n2 n3",
		"a[1-3],b[01-02,7]": "a1 a2 a3 b01 b02 b7",
		"n[08-10]":          "n08 n09 n10",
		"r[1-2]n[1-2]":      "r1n1 r1n2 r2n1 r2n2",
		"r[1-2]-ib,x":       "r1-ib r2-ib x",
		"n[9-11]":           "n9 n10 n11",
		" login ":           "login",
		"n[1,1]":            "n1 n1",
	} {
		got, err := Expand(in)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: got %v, %v; want %s", in, got, err, want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, in := range []string{"n[1-", "n]", "n[[1]]", "n[]", "n[a]", "n[3-1]", "n[-1]", "a,,b", "a b", ",a", "a,", "n[1-1000000000]", "n[1-1000][1-1000]", "n[1-99999999999999999999]"} {
		if got, err := Expand(in); err == nil {
			t.Errorf("%q was taken: %d names", in, len(got))
		}
	}
}

// A short list does not stand for much memory: neither by its numbers nor by their zeros, nor by a long name that is repeated.
func TestListsAreSmall(t *testing.T) {
	zeros := strings.Repeat("0", 60_000)
	for _, list := range []string{"n[" + zeros + "-" + zeros[:59_990] + "99999]", strings.Repeat("x", 60_000) + "[0-99999]", strings.Repeat("x", 240) + "[0-99999]",
		strings.Repeat(strings.Repeat("x", 240)+"[0-9999],", 20), "n[0-262143],m", strings.Repeat("[0-9]", 60), "[0-4611686018427387903]"} {
		per := testing.AllocsPerRun(1, func() {
			if names, err := Expand(strings.TrimSuffix(list, ",")); err == nil {
				t.Errorf("%.40q stands for %d names", list, len(names))
			}
		})
		if per > 100 {
			t.Errorf("%.40q: %v allocations until it is refused", list, per)
		}
	}
	if n, err := Count("n[0-99],r[1-2]n[1-3], ,x"); n != 107 || err != nil {
		t.Errorf("Count: %d, %v", n, err)
	}
}

func TestExpandLoosely(t *testing.T) {
	for list, want := range map[string]string{
		"":                 "",
		"a":                "a",
		"a,b":              "a b",
		"n[1-3]":           "n1 n2 n3",
		"n[001-003,7]":     "n001 n002 n003 n7",
		"n[09-11]":         "n09 n10 n11",
		"r[1-2]n[1-2],x":   "r1n1 r1n2 r2n1 r2n2 x",
		"n[1-2]-ib,n[5]":   "n1-ib n2-ib n5",
		" a , b ,":         "a b",
		"n[1-2]x[3]y[4-5]": "n1x3y4 n1x3y5 n2x3y4 n2x3y5",
	} {
		got, err := ExpandLoosely(list)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q = %q, %v; want %q", list, got, err, want)
		}
	}
	for _, bad := range []string{"n[1-", "n]1", "n[3-1]", "n[a-b]", "n[1-99999999]", "n[1-1025]x[1-1025]", "n[-1]", "n[]", "n[1-2-3]"} {
		if got, err := ExpandLoosely(bad); err == nil {
			t.Errorf("%q passed as %d names", bad, len(got))
		}
	}
}

func TestCompress(t *testing.T) {
	for in, want := range map[string]string{
		"":                "",
		"n1":              "n1",
		"n3 n1 n2 n7 n1":  "n[1-3,7]",
		"n08 n09 n10 n11": "n[08-11]",
		"n8 n9 n10":       "n[8-10]",
		"login n2 n1":     "n[1-2],login",
		"r1n1 r1n2 r2n1":  "r1n[1-2],r2n1",
		"n1 n01 n02 n2":   "n[1-2,01-02]",
		"a-ib b2":         "b2,a-ib",
		"n099 n100 n1000": "n[1000,099-100]",
	} {
		if got := Compress(strings.Fields(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// TestRoundTrip: whatever names go in come out again, each once, and no list is longer than the names with commas.
func TestRoundTrip(t *testing.T) {
	name := rapid.StringMatching(`[a-z]{1,2}(0{0,2}[0-9]{1,3})?(-?[a-z]?0?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(name).Draw(t, "names")
		list := Compress(names)
		got, err := Expand(list)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		want := slices.Clone(names)
		slices.Sort(want)
		want = slices.Compact(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%v -> %s -> %v", want, list, got)
		}
		if again := Compress(got); again != list {
			t.Fatalf("order of names matters: %s, then %s", list, again)
		}
	})
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"n[1-3]", "a[1-3],b[01-02,7]", "r[1-2]n[1-2]", "n[", "x,,y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, err := Expand(s)
		if err != nil {
			return
		}
		if n, err := Count(s); err != nil || n != len(names) {
			t.Fatalf("%q stands for %d names, and %d are counted: %v", s, len(names), n, err)
		}
		again, err := Expand(Compress(names))
		if err != nil {
			t.Fatalf("%q -> %v: %v", s, names, err)
		}
		slices.Sort(names)
		slices.Sort(again)
		if !slices.Equal(slices.Compact(names), slices.Compact(again)) {
			t.Fatalf("%q: %v became %v", s, names, again)
		}
	})
}

func TestSplit(t *testing.T) {
	for list, want := range map[string][]string{
		"":                  nil,
		"17":                {"17"},
		"1,2_[3,4-5],6_7":   {"1", "2_[3,4-5]", "6_7"},
		",n[1,3]x[2,4],,m,": {"n[1,3]x[2,4]", "m"},
	} {
		if got := Split(list); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}
