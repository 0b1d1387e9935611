package api

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	v1 "fsub/federation/api/v1"
)

// dated is a thing of a list for tests.
type dated struct {
	Name string
	Rank int
}

type datedQuery struct {
	Sort string `query:"sort" enum:"rank,-rank"`
}

// Pages of a list in both directions show each thing once that was there throughout, in the order that was asked for, while others come and go.
func TestPagesOfAListWhileItChanges(t *testing.T) {
	noun := &v1.Noun[dated, datedQuery]{Path: "/fed/v1/things", Key: func(x *dated) string { return x.Name },
		Orders: map[string]func(*dated) string{"rank": func(x *dated) string { return fmt.Sprint(x.Rank) }}}
	rapid.Check(t, func(t *rapid.T) {
		thing := rapid.Custom(func(t *rapid.T) dated {
			n := rapid.IntRange(0, 40).Draw(t, "key")
			return dated{fmt.Sprintf("%02d", n), n * 7 % 5}
		})
		all := rapid.SliceOfDistinct(thing, rapid.ID[dated]).Draw(t, "things")
		stays := map[dated]bool{}
		for _, x := range all {
			stays[x] = true
		}
		sort := rapid.SampledFrom([]string{"", "rank", "-rank"}).Draw(t, "sort")
		compare := func(a, b dated) int {
			switch by := cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name)); sort {
			case "rank":
				return by
			case "-rank":
				return -by
			}
			return cmp.Compare(a.Name, b.Name)
		}
		page := func(q v1.PageQuery) (*v1.Page[dated], error) { return pageOf(noun, all, &listQuery{q, sort}) }
		end := map[string]string{"": keyCursor(noun.Path, "99"), "rank": keyCursor(noun.Path+" rank", "9"), "-rank": keyCursor(noun.Path+" -rank", "")}[sort]
		seen := walk(t, page, end, func() {
			x := thing.Draw(t, "thing")
			if i := slices.Index(all, x); i >= 0 {
				all = slices.Delete(slices.Clone(all), i, i+1)
				delete(stays, x)
			} else {
				all = append(slices.Clone(all), x)
			}
			all = rapid.Permutation(all).Draw(t, "order")
		})
		if !slices.IsSortedFunc(seen, compare) || len(slices.Compact(slices.Clone(seen))) < len(seen) {
			t.Fatalf("shown: %v", seen)
		}
		for x := range stays {
			if !slices.Contains(seen, x) {
				t.Fatalf("%v was there throughout and is not shown: %v", x, seen)
			}
		}
	})
}

// walk reads a list page by page, to its end or from its end, with changes between pages. It returns what was shown in the list's order.
func walk[T any](t *rapid.T, page func(v1.PageQuery) (*v1.Page[T], error), end string, change func()) (seen []T) {
	back := rapid.Bool().Draw(t, "back")
	q := v1.PageQuery{Limit: rapid.IntRange(1, 5).Draw(t, "limit")}
	if back {
		q.Before = end
	}
	for {
		p, err := page(q)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Items) > q.Limit {
			t.Fatalf("%d things in a page of %d", len(p.Items), q.Limit)
		}
		if q.After = p.Next; back {
			q.After, q.Before = "", p.Prev
			seen = append(slices.Clone(p.Items), seen...)
		} else {
			seen = append(seen, p.Items...)
		}
		if q.After+q.Before == "" {
			return seen
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			change()
		}
	}
}

func TestForeignCursors(t *testing.T) {
	for text, ok := range map[string]bool{"": true, keyCursor("/fed/v1/nodes", "alpha\x00n1"): true, keyCursor("/fed/v1/sites", "alpha"): false, "x": false, "!": false} {
		if _, err := readKeyCursor("/fed/v1/nodes", text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
