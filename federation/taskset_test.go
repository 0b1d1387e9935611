package federation_test

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fsub/federation"
)

// A TaskSet is what its indices are, whatever was removed from it.
func TestTaskSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(1?[0-9](-[2-5][0-9](:[1-7])?)?)(,(1?[0-9]|[2-5][0-9](-[6-9][0-9](:[1-7])?)?)){0,4}`).Draw(t, "array")
		a, err := federation.ReadArray(text)
		if err != nil {
			t.Skip(err)
		}
		want, s := a.Indices(), a.Set()
		if rapid.Bool().Draw(t, "made of indices") {
			s = federation.TaskSetOf(want)
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 99), 0, 60).Draw(t, "removed") {
			at, has := slices.BinarySearch(want, i)
			if s.Has(i) != has || s.Remove(i) != has {
				t.Fatalf("%s: has %d: want %v", text, i, has)
			}
			if has {
				want = slices.Delete(want, at, at+1)
			}
			got := slices.Collect(s.All())
			if !slices.Equal(got, want) || s.Len() != len(want) {
				t.Fatalf("%s: %d tasks %v, want %v", text, s.Len(), got, want)
			}
			from := rapid.IntRange(0, 99).Draw(t, "from")
			first, _ := slices.BinarySearch(want, from)
			if got := slices.Collect(s.From(from)); !slices.Equal(got, want[first:]) {
				t.Fatalf("%s from %d: %v of %v", text, from, got, want)
			}
			if len(want) > 0 && s.Format(3) != federation.FormatArray(want, 3) {
				t.Fatalf("%s: %s, want %s", text, s.Format(3), federation.FormatArray(want, 3))
			}
		}
	})
}

// What two sets have in common, and whether one has all of the other.
func TestTaskSetsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (federation.TaskSet, []int) {
			text := rapid.StringMatching(`[0-9](-[0-9][0-9](:[1-7])?)?(,[0-9](-[0-9][0-9](:[1-7])?)?){0,4}`).Draw(t, name)
			a, err := federation.ReadArray(text)
			if err != nil {
				t.Skip(err)
			}
			return a.Set(), a.Indices()
		}
		a, as := draw("a")
		b, bs := draw("b")
		if !slices.Equal(slices.Collect(a.All()), as) || a.Len() != len(as) {
			t.Fatalf("%v, want %v", slices.Collect(a.All()), as)
		}
		both := slices.DeleteFunc(slices.Clone(as), func(i int) bool { return !slices.Contains(bs, i) })
		c := a.Both(&b)
		if got := slices.Collect(c.All()); !slices.Equal(got, both) || c.Len() != len(both) {
			t.Fatalf("both %v (%d), want %v", got, c.Len(), both)
		}
		minus := slices.DeleteFunc(slices.Clone(as), func(i int) bool { return slices.Contains(bs, i) })
		d := a.Minus(&b)
		if got := slices.Collect(d.All()); !slices.Equal(got, minus) || d.Len() != len(minus) {
			t.Fatalf("%v minus %v: %v (%d), want %v", as, bs, got, d.Len(), minus)
		}
		if covers := len(both) == len(bs); a.Covers(&b) != covers {
			t.Fatalf("%v covers %v: want %v", as, bs, covers)
		}
		text, err := json.Marshal(a)
		var again federation.TaskSet
		if err != nil || json.Unmarshal(text, &again) != nil || !slices.Equal(slices.Collect(again.All()), as) {
			t.Fatalf("%s, %v: %v", text, err, again)
		}
	})
}

// Both forms of a set's JSON are read, in whatever order the numbers are.
func TestTaskSetJSON(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null", `[]`: "null", `""`: "null", `[ 3, 1,2 ,3]`: "[1,2,3]", `[-1]`: "[-1]", `"0-999999"`: `"0-999999"`, `"[0-99,200]%4"`: `"0-99,200"`,
		`[0,1,2,3,4,5,6,7,8,9]`: `"0-9"`, `"0-3999999,0-3999999"`: `"0-3999999"`,
	} {
		var s federation.TaskSet
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, _ := json.Marshal(s); string(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{`"x"`, `[1,]`, `[1.5]`, `{}`, `7`, `"0-3999999,0-3999998:2"`} {
		var s federation.TaskSet
		if err := json.Unmarshal([]byte(text), &s); err == nil {
			t.Errorf("%s is read as %v", text, s)
		}
	}
}
