package api

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	v1 "fsub/federation/api/v1"
)

// Pages of a list in both directions show each thing once that was there throughout, in order of the keys, while others come and go.
func TestPagesOfAListWhileItChanges(t *testing.T) {
	noun := &v1.Noun[string, v1.None]{Path: "/fed/v1/things", Key: func(x *string) string { return *x }}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%02d", rapid.IntRange(0, 40).Draw(t, "key")) })
		all := rapid.SliceOfDistinct(key, rapid.ID[string]).Draw(t, "things")
		stays := map[string]bool{}
		for _, x := range all {
			stays[x] = true
		}
		back := rapid.Bool().Draw(t, "back")
		var seen []string
		for q := (v1.PageQuery{Limit: rapid.IntRange(1, 5).Draw(t, "limit")}); ; {
			if back && q.Before == "" {
				q.Before = keyCursor(noun.Path, "99")
			}
			p, err := pageOf(noun, all, &q)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Items) > q.Limit {
				t.Fatalf("%d things in a page of %d", len(p.Items), q.Limit)
			}
			q.After, q.Before = p.Next, ""
			if back {
				slices.Reverse(p.Items)
				q.After, q.Before = "", p.Prev
			}
			if seen = append(seen, p.Items...); q.After+q.Before == "" {
				break
			}
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				x := key.Draw(t, "thing")
				if i := slices.Index(all, x); i >= 0 {
					all = slices.Delete(slices.Clone(all), i, i+1)
					delete(stays, x)
				} else {
					all = append(slices.Clone(all), x)
				}
			}
			all = rapid.Permutation(all).Draw(t, "order")
		}
		if back {
			slices.Reverse(seen)
		}
		if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) < len(seen) {
			t.Fatalf("shown: %v", seen)
		}
		for x := range stays {
			if !slices.Contains(seen, x) {
				t.Fatalf("%s was there throughout and is not shown: %v", x, seen)
			}
		}
	})
}

func TestForeignCursors(t *testing.T) {
	for text, ok := range map[string]bool{"": true, keyCursor("/fed/v1/nodes", "alpha\x00n1"): true, keyCursor("/fed/v1/sites", "alpha"): false, "x": false, "!": false} {
		if _, err := readKeyCursor("/fed/v1/nodes", text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
