package federation_test

import (
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
			if len(want) > 0 && s.Format(3) != federation.FormatArray(want, 3) {
				t.Fatalf("%s: %s, want %s", text, s.Format(3), federation.FormatArray(want, 3))
			}
		}
	})
}
