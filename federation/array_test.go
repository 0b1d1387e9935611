package federation

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestArrayIndices(t *testing.T) {
	for spec, want := range map[string][]int{
		"0-3":        {0, 1, 2, 3},
		"0-10:5,7%2": {0, 5, 7, 10},
		"[1-3]%2":    {1, 2, 3},
		"[5,5,4]":    {4, 5},
		"7":          {7},
		"1-2,2-3%1":  {1, 2, 3},
	} {
		got, err := ArrayIndices(spec)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v, want %v", spec, got, err, want)
		}
	}
	for _, bad := range []string{"", "a", "3-1", "1-", "-1", "1:2", "0-4:0", "1,,2", "+1", "99999999", "1%x", "1%", "1%-2"} {
		if _, err := ArrayIndices(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestReadArray(t *testing.T) {
	for spec, want := range map[string][2]int{"0-3": {4, 3}, "0-10:4,7%2": {4, 8}, "1-2,2-3": {4, 3}, "0-4000000": {4_000_001, 4_000_000}} {
		if a, err := ReadArray(spec); err != nil || a.Len() != want[0] || a.Max() != want[1] {
			t.Errorf("%s: %d tasks up to %d, %v, want %v", spec, a.Len(), a.Max(), err, want)
		}
	}
	a, _ := ReadArray("0-10:5,7%2")
	for i := range 12 {
		if want := i == 0 || i == 5 || i == 7 || i == 10; a.Has(i) != want {
			t.Errorf("%d is in it: %t", i, !want)
		}
	}
	if n := testing.AllocsPerRun(1, func() { ReadArray("0-3999999,0-3999999") }); n > 8 {
		t.Errorf("%v allocations", n)
	}
	if _, err := ReadArray("0-4000000,0-4000000,0-4000000"); err == nil || !strings.Contains(err.Error(), "too many tasks") {
		t.Errorf("the same range again and again: %v", err)
	}
}

func TestFormatArray(t *testing.T) {
	for text, want := range map[string]string{
		"0-3": "0-3", "[1-3]%2": "1-3%2", "0-10:2": "0,2,4,6,8,10", "0-12:2": "0-12:2", "0-40:10": "0,10,20,30,40", "0-50:10": "0-50:10", "5,17": "5,17", "1,3,5,6": "1,3,5-6", "7": "7", "3,1,2,2": "1-3", "0-9%0": "0-9", "1,5": "1,5", "0-2,9": "0-2,9",
	} {
		indices, err := ArrayIndices(text)
		if got := FormatArray(indices, ArrayLimit(text)); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", text, got, err, want)
		}
	}
}

func TestFormatArrayRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		indices := rapid.SliceOfNDistinct(rapid.IntRange(0, 200), 1, 40, rapid.ID).Draw(t, "indices")
		slices.Sort(indices)
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		spec := FormatArray(indices, limit)
		got, err := ArrayIndices(spec)
		if err != nil || !slices.Equal(got, indices) || ArrayLimit(spec) != limit {
			t.Fatalf("%v%%%d -> %q -> %v %v", indices, limit, spec, got, err)
		}
	})
}

func FuzzArrayIndices(f *testing.F) {
	f.Add("0-10:2,5%3")
	f.Fuzz(func(t *testing.T, spec string) {
		indices, err := ArrayIndices(spec)
		if err == nil && (len(indices) == 0 || !slices.IsSorted(indices)) {
			t.Errorf("%q: %v", spec, indices)
		}
	})
}
