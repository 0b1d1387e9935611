package queue

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
)

// Choice chooses jobs of a list. Its methods are called with the queue's lock held.
type Choice interface {
	// Class tells of all jobs that have these facts, and this name if it is not nil, whether they are chosen. Not sure: each is to be looked at.
	Class(f *Facts, name *string) (chosen, sure bool)
	// Job reports whether a job is chosen whose class is not sure.
	Job(l *Listed) bool
}

// PageQuery asks for one page of the jobs that have not ended.
type PageQuery struct {
	Sort  string // one of [ListOrders], with - before it from the last to the first; "": id
	Limit int    // maximum number of jobs, from 1
	// After and Before are cursors of an earlier page: the page begins behind the one, or ends before the other. At most one is set.
	After, Before string
	Choice        Choice
	Only          []federation.JobID // only these, and the tasks of those that are arrays; nil: all
	// Since and Until: only jobs that were submitted after the one and before the other, in nanoseconds since 1970; 0: no bound.
	Since, Until int64
}

// Page is one page of a list of jobs.
type Page struct {
	IDs        []federation.JobID
	Prev, Next string       // cursors: what comes before the page, and behind it; "": nothing does
	Mark       journal.Mark // of the store's log: what was written before it is in the page
}

// Lists answers what lists and counts of jobs ask of a Queue.
type Lists struct{ Queue *Queue }

// Mark takes up what was written before the call, and returns its mark in the store's log.
func (l Lists) Mark(ctx context.Context) (journal.Mark, error) {
	q := l.Queue
	if _, err := q.age(ctx); err != nil {
		return 0, err
	}
	return q.mark.get(), nil
}

// markStays is how old a mark may be of which a submission tells: the log goes back much longer.
const markStays = 10 * time.Second

// Recent is a mark of the store's log of the last seconds, before anything that is written after the call; 0: the queue has not been read yet, or cannot be.
func (l Lists) Recent(ctx context.Context) journal.Mark {
	q := l.Queue
	if q.Complete() && q.Lag() > markStays {
		if err := q.refresh(ctx); err != nil {
			return 0 // the submission will say why, if it needs the store
		}
	}
	return q.mark.get()
}

// Page lists jobs that have not ended, as of the last look at the store: see [Lists.Mark]. No job is in two pages of one order, or in none, that was there
// throughout with the same key.
func (l Lists) Page(p *PageQuery) (*Page, error) {
	q := l.Queue
	by, down, err := readListOrder(p.Sort)
	if err != nil {
		return nil, err
	}
	at, err := readCursor(by, p.After+p.Before)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := newSearch(q, by, p)
	if p.Only == nil && !q.lists.has(by) && s.any() {
		q.mu.Unlock()
		l.prepare(by)
		q.mu.Lock()
		s = newSearch(q, by, p)
	}
	back := down != (p.Before != "")
	switch {
	case p.Only != nil:
		s.some(onlyListed(q, p.Only), at, back, p.Limit+1)
	case s.any():
		x := q.lists.index(by, q.jobs, q.cfg().Now())
		x.walk(&q.lists, at, back, func(e entry) bool {
			s.take(e)
			if s.left <= 0 {
				s.stopped = e.k
			}
			return s.stopped == nil && len(s.found) <= p.Limit
		})
	}
	return s.page(p, q.mark.get()), nil
}

// page is the page of what was found for p: one job more than it has, if there is one. Where the search has stopped before its end, a cursor goes on from there.
func (s *search) page(p *PageQuery, mark journal.Mark) *Page {
	back, more := p.Before != "", len(s.found) > p.Limit
	if more {
		s.found, s.stopped = s.found[:p.Limit], nil
	}
	if back {
		slices.Reverse(s.found)
	}
	out := &Page{Mark: mark}
	for _, k := range s.found {
		out.IDs = append(out.IDs, k.id())
	}
	var first, last *queuedJob // of what was searched
	if n := len(s.found); n > 0 {
		first, last = s.found[0], s.found[n-1]
	}
	if k := s.stopped; k != nil {
		more = true
		if back || first == nil {
			first = k
		}
		if !back || last == nil {
			last = k
		}
	}
	if last != nil && (back || more) {
		at := s.lists.placeOf(s.by, last)
		out.Next = at.cursor(s.by)
	}
	if first != nil && (p.After != "" || back && more) {
		at := s.lists.placeOf(s.by, first)
		out.Prev = at.cursor(s.by)
	}
	return out
}

// onlyListed are listed jobs by their IDs, with those that are tasks of them.
func onlyListed(q *Queue, ids []federation.JobID) []*queuedJob {
	found := map[*queuedJob]bool{}
	for _, id := range ids {
		for _, k := range append([]*queuedJob{q.jobs[id]}, q.groups[id]...) {
			if k != nil && k.isListed() {
				found[k] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// search gathers jobs.
type search struct {
	lists    *listings
	by       *listOrder
	choice   Choice
	since    int64
	until    int64
	verdicts []verdict // by class
	found    []*queuedJob
	one      Listed     // that is looked at
	left     int        // how many jobs may still be passed
	stopped  *queuedJob // the last one that was passed before left was at an end
}

// Bounds of the search for one page, which holds up all others of the queue. To look at a job costs as much as to pass lookCost of which the class says that they are not chosen;
// to read when it was submitted, readCost.
const lookCost, readCost = 50, 4

var searchBound = 200_000

func newSearch(q *Queue, by *listOrder, p *PageQuery) *search {
	return &search{lists: &q.lists, by: by, choice: p.Choice, since: cmp.Or(p.Since, math.MinInt64), until: cmp.Or(p.Until, math.MaxInt64),
		verdicts: make([]verdict, len(q.lists.classes.all)), left: searchBound}
}

// verdict is what is known of the jobs of a class.
type verdict byte

const (
	notAsked verdict = iota
	none             // is chosen
	each             // is chosen
	askEach
)

// any reports whether there are jobs that may be chosen.
func (s *search) any() bool {
	for class := range s.verdicts {
		if s.lists.classes.all[class].jobs > 0 && s.of(int32(class)) != none {
			return true
		}
	}
	return false
}

// of is what is known of the jobs of a class.
func (s *search) of(class int32) verdict {
	if s.verdicts[class] == notAsked {
		s.verdicts[class] = s.ask(class)
	}
	return s.verdicts[class]
}

// take adds a job if it is chosen.
func (s *search) take(e entry) {
	v := s.of(e.class)
	if s.left--; v == none {
		return
	}
	if at := e.k.submitted() * 1e9; at <= s.since || at >= s.until {
		s.left -= readCost
		return
	}
	if v == askEach {
		s.left -= lookCost
		v = none
		s.one = s.lists.listed(e.k)
		if s.choice.Job(&s.one) {
			v = each
		}
	}
	if v == each {
		s.found = append(s.found, e.k)
	}
}

func (s *search) ask(class int32) verdict {
	c := &s.lists.classes.all[class]
	if c.State.Ended() {
		return none
	}
	var name *string
	if c.named {
		name = &c.name
	}
	switch chosen, sure := s.choice.Class(&c.Facts, name); {
	case !sure:
		return askEach
	case chosen:
		return each
	}
	return none
}

// some searches a few jobs.
func (s *search) some(jobs []*queuedJob, at *place, back bool, most int) {
	sign := 1
	if back {
		sign = -1
	}
	slices.SortFunc(jobs, func(a, b *queuedJob) int {
		pa, pb := s.lists.placeOf(s.by, a), s.lists.placeOf(s.by, b)
		return sign * pa.compare(&pb)
	})
	for _, k := range jobs {
		if p := s.lists.placeOf(s.by, k); at != nil && sign*p.compare(at) <= 0 {
			continue
		}
		if s.take(entry{k, k.class()}); len(s.found) >= most {
			return
		}
	}
}
