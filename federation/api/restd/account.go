package restd

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/slurm/wire"
)

// Account reads what the query of an accounting listing selects, in order of the jobs, tasks in the place of their arrays.
func (s *Lister) Account(ctx context.Context, v *View, q url.Values, c identity.Caller) (Pages, []wire.Warning, error) {
	f, err := ReadFilter(q, c)
	if err != nil {
		return nil, nil, err
	}
	win, err := readWindow(q, s.Now())
	if err != nil {
		return nil, nil, err
	}
	win.states, f.States = f.States, nil // the window has its own meaning of states
	query := f.Query(s.Users)
	query.EndedAfter = win.from
	byArray := func(a, b federation.ListedJob) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Array, a.ID), cmp.Or(b.Array, b.ID)), ByID(a, b))
	}
	pages := s.pages(ctx, v, &f, InPages(ctx, s.Store, query, byArray))
	return func(yield func([]Part, error) bool) {
		for list, err := range pages {
			if err == nil && q.Get("duplicates") != "" {
				list, err = s.withEarlier(ctx, list)
			}
			list = slices.DeleteFunc(list, func(p Part) bool { return !win.has(&p, len(f.Refs) > 0) })
			slices.SortStableFunc(list, func(a, b Part) int { return cmp.Compare(cmp.Or(a.array, a.Job.ID), cmp.Or(b.array, b.Job.ID)) })
			if !yield(list, err) || err != nil {
				return
			}
		}
	}, s.UnknownUsers(&f), nil
}

// window is the time that a listing of the accounting is about. A zero time is no bound.
type window struct {
	from, to time.Time
	states   []string
}

func readWindow(q url.Values, now time.Time) (window, error) {
	var win window
	for name, into := range map[string]*time.Time{"start_time": &win.from, "end_time": &win.to} {
		text := q.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(text, "uts"), 10, 64)
		if err != nil {
			return win, answer.BadBody(name + " must be a Unix time: " + strconv.Quote(text))
		}
		*into = time.Unix(n, 0)
	}
	if win.to.IsZero() {
		win.to = now
	}
	return win, nil
}

// has reports whether p belongs to the window, as sacct takes it. Without states: it was there at some time of the window, from
// when it could have started (a job asked for by its ID: from its submission). With states: it was in one of them then,
// which for an end means that it ended then.
func (w window) has(p *Part, byID bool) bool {
	from, to, start, end := seconds(w.from), seconds(w.to), seconds(p.start), seconds(p.End)
	began := max(p.Job.Submit.Unix(), seconds(p.Job.Spec.Begin))
	ended := p.State.Ended()
	if byID {
		began = p.Job.Submit.Unix()
	}
	if began > to || !byID && p.Job.Held != federation.NotHeld || ended && end < from {
		return false
	}
	if len(w.states) == 0 {
		return true
	}
	for _, state := range w.states {
		switch {
		case state == string(p.State):
			if !ended || end <= to {
				return true
			}
		case state == "RUNNING" && p.State != federation.Pending:
			if start != 0 && start <= to && (!ended || end > from) {
				return true
			}
		case state == "PENDING" && (byID || from != 0) && start > from && began <= to:
			return true // it waited at the beginning of the window
		}
	}
	return false
}

// seconds is t in Unix time, 0 for the zero time: sacct knows no fractions of a second.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
