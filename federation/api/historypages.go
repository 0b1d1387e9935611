package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// past is a part of a list that the store has in order of time, whose things have numbers that increase.
type past struct {
	After, Before int64 // with a higher number, and a lower one; Before 0: no bound
	Limit         int   // maximum number of things
	Oldest        bool  // of more than Limit the oldest, else the newest
}

// mostPast is how many things of the past one answer has at most.
const mostPast = 100_000

// history adds the route of a noun's list that the store has in order of time, with the number of a thing as its key. It is there page by page, in the orders time and
// -time; without a sort and a cursor the page is the last of time, and has usual things if the query does not say how many. f lists a part, oldest first.
func history[T, Q any](t *table, n *v1.Noun[T, Q], usual int, f func(ctx context.Context, q Q, part past) ([]T, error)) {
	route := t.add("GET", n.Path, n.Who, nil, []T{}, n.Doc, append(v1.QueryParams(new(Q)), pageParams(n)...), func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		q, err := queryOf[Q](r)
		if err != nil {
			return err
		}
		page, err := readListQuery[Q](r)
		if err != nil {
			return err
		}
		fields, err := fieldsOf[T](page.Fields)
		if err != nil {
			return err
		}
		page.Limit = min(cmp.Or(page.Limit, usual), mostPast)
		asOf := asOf(t, n, r, true)
		p, err := pageOfHistory(n, &page, func(part past) ([]T, error) { return f(r.Context(), q, part) })
		if err != nil {
			return err
		}
		p.AsOf = asOf
		return writeTagged(w, r, p, fields)
	})
	route.Pages, route.Marked = true, n.Logged
}

// pageOfHistory is a page of what read lists. Nothing is in two pages of one order, or in none, that was there throughout: numbers do not change.
func pageOfHistory[T, Q any](n *v1.Noun[T, Q], q *listQuery, read func(past) ([]T, error)) (*v1.Page[T], error) {
	order := cmp.Or(q.Sort, "time")
	if order != "time" && order != "-time" {
		return nil, invalidSort(q.Sort, []string{"time"})
	}
	list, cursor := n.Path+" "+order, q.After+q.Before
	key, err := readKeyCursor(list, cursor)
	if err != nil {
		return nil, err
	}
	at, err := strconv.ParseInt(cmp.Or(key, "0"), 10, 64)
	if err != nil || at < 0 || cursor != "" && at == 0 {
		return nil, errKeyCursor
	}
	forward := q.After != "" || q.Before == "" && q.Sort != ""
	part := past{Limit: q.Limit + 1, Oldest: forward == (order == "time")}
	if part.Oldest {
		part.After = at
	} else {
		part.Before = at
	}
	things, err := read(part) // one more than the page has: whether there are others
	if err != nil {
		return nil, err
	}
	more := len(things) > q.Limit
	switch {
	case more && part.Oldest:
		things = things[:q.Limit]
	case more:
		things = things[len(things)-q.Limit:]
	}
	if order == "-time" {
		things = slices.Clone(things)
		slices.Reverse(things)
	}
	p := &v1.Page[T]{Items: append([]T{}, things...)}
	if len(things) == 0 {
		return p, nil
	}
	first, last := keyCursor(list, n.Key(&things[0])), keyCursor(list, n.Key(&things[len(things)-1]))
	behind, ahead := first, last // where the page comes from, and where it goes on
	if !forward {
		behind, ahead = last, first
	}
	if cursor == "" {
		behind = ""
	}
	if !more {
		ahead = ""
	}
	if p.Prev, p.Next = behind, ahead; !forward {
		p.Prev, p.Next = ahead, behind
	}
	return p, nil
}
