package api

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	v1 "fsub/federation/api/v1"
)

// Pages of the past show each thing once that was there throughout, in both orders and directions, while others are written and the oldest are deleted. Without a sort
// and a cursor the page is the newest things.
func TestPagesOfThePastWhileItGrows(t *testing.T) {
	type event int64
	noun := &v1.Noun[event, v1.None]{Path: "/fed/v1/past", Key: func(x *event) string { return fmt.Sprintf("%020d", *x) }}
	rapid.Check(t, func(t *rapid.T) {
		var all []event
		newest := event(1)
		write := func() {
			newest += event(rapid.IntRange(1, 3).Draw(t, "step"))
			all = append(all, newest)
		}
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			write()
		}
		read := func(p past) (found []event, _ error) {
			for _, x := range all {
				if int64(x) > p.After && (p.Before == 0 || int64(x) < p.Before) {
					found = append(found, x)
				}
			}
			if p.Oldest {
				return found[:min(len(found), p.Limit)], nil
			}
			return found[max(0, len(found)-p.Limit):], nil
		}
		p, err := pageOfHistory(noun, &listQuery{PageQuery: v1.PageQuery{Limit: 3}}, read)
		if want := all[max(0, len(all)-3):]; err != nil || !slices.Equal(p.Items, want) || p.Next != "" || (p.Prev != "") != (len(all) > 3) {
			t.Fatalf("%v, %+v: want the newest, %v", err, p, want)
		}
		sort := rapid.SampledFrom([]string{"time", "-time"}).Draw(t, "sort")
		end := keyCursor(noun.Path+" time", "1000000")
		if sort == "-time" {
			end = keyCursor(noun.Path+" -time", "1")
		}
		stays := slices.Clone(all)
		page := func(q v1.PageQuery) (*v1.Page[event], error) { return pageOfHistory(noun, &listQuery{q, sort}, read) }
		seen := walk(t, page, end, func() {
			if len(all) > 0 && rapid.Bool().Draw(t, "delete") {
				stays = slices.DeleteFunc(stays, func(x event) bool { return x == all[0] })
				all = all[1:]
			} else {
				write()
			}
		})
		if sort == "-time" {
			slices.Reverse(seen)
		}
		if !slices.IsSortedFunc(seen, func(a, b event) int { return cmp.Compare(a, b) }) || len(slices.Compact(slices.Clone(seen))) < len(seen) {
			t.Fatalf("shown: %v", seen)
		}
		for _, x := range stays {
			if !slices.Contains(seen, x) {
				t.Fatalf("%v was there throughout and is not shown: %v", x, seen)
			}
		}
	})
}
