package depend

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"afterok:1:2,afterany:3":               "",
		"afterok:@prep":                        "prep",
		"afterok:@prep:7:@x/lr=0.1,after:@y+5": "prep x/lr=0.1 y",
		"afterok:@a?afternotok:@b":             "a b",
		"@a":                                   "a",
		"afterok:@":                            "",
		"afterok:a@b":                          "",
		"aftercorr:@sweep_7:@sweep_*":          "sweep_7 sweep_*",
	} {
		if got := strings.Join(Names(text), " "); got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
		got := Named(text, func(name string) string { return "@" + name })
		if got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	if got := Named("afterok:@a:5:@a,after:@b+3", strconv.Quote); got != `afterok:"a":5:"a",after:"b"+3` {
		t.Error(got)
	}
	for name, want := range map[string]bool{"a": true, "A-1_x/lr=0.1.z": true, "": false, "_a": false, "a:b": false, "a+b": false, "ü": false, "a b": false, strings.Repeat("a", 129): false} {
		if why := InvalidName(name); (why == "") != want {
			t.Errorf("name %q: %s", name, why)
		}
	}
	for name, want := range map[string]string{"a_7": "a 7", "a_b_12": "a_b 12", "a_*": "a *", "a": "", "a_": "", "_7": "", "a_x": ""} {
		array, task, ok := Task(name)
		if got := array + " " + task; ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %t", name, got, ok)
		}
	}
}

// TestOrder: each comes after those that it names, or a ring is told that is one.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		names := make([][]int, n)
		acyclic := rapid.Bool().Draw(t, "without a ring")
		rank := rapid.Permutation(numbers(n)).Draw(t, "rank")
		for i := range n {
			for _, k := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 4).Draw(t, "names") {
				if !acyclic || rank[k] < rank[i] {
					names[i] = append(names[i], k)
				}
			}
		}
		order, ring := Order(n, func(i int) []int { return names[i] })
		if acyclic && ring != nil {
			t.Fatalf("ring %v in %v", ring, names)
		}
		for at, i := range ring {
			if next := ring[(at+1)%len(ring)]; !slices.Contains(names[i], next) {
				t.Fatalf("ring %v: %d does not name %d", ring, i, next)
			}
		}
		if ring != nil {
			return
		}
		if got := slices.Sorted(slices.Values(order)); !slices.Equal(got, numbers(n)) {
			t.Fatalf("order %v of %d", order, n)
		}
		for i := range n {
			for _, k := range names[i] {
				if slices.Index(order, k) > slices.Index(order, i) {
					t.Fatalf("order %v: %d comes before %d, which it names", order, i, k)
				}
			}
		}
	})
	if order, _ := Order(3, func(int) []int { return nil }); !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("jobs that name nobody come in the order %v", order)
	}
}

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
