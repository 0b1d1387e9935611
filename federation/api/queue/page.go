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
	s := search{lists: &q.lists, by: by, choice: p.Choice, since: p.Since, until: cmp.Or(p.Until, math.MaxInt64), verdicts: make([]verdict, len(q.lists.classes.all))}
	back := down != (p.Before != "")
	if p.Only != nil {
		s.some(onlyListed(q, p.Only), at, back, p.Limit+1)
	} else {
		x := q.lists.index(by, q.jobs, q.cfg().Now())
		x.walk(&q.lists, at, back, func(e entry) bool {
			s.take(e)
			return len(s.found) <= p.Limit
		})
	}
	more := len(s.found) > p.Limit
	if more {
		s.found = s.found[:p.Limit]
	}
	if p.Before != "" {
		slices.Reverse(s.found)
	}
	out := &Page{Mark: q.mark.get()}
	for _, k := range s.found {
		out.IDs = append(out.IDs, k.id())
	}
	if n := len(s.found); n > 0 {
		first, last := q.lists.placeOf(by, s.found[0]), q.lists.placeOf(by, s.found[n-1])
		if p.Before != "" || more {
			out.Next = last.cursor(by)
		}
		if p.After != "" || p.Before != "" && more {
			out.Prev = first.cursor(by)
		}
	}
	return out, nil
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
	one      Listed // that is looked at
}

// verdict is what is known of the jobs of a class.
type verdict byte

const (
	notAsked verdict = iota
	none             // is chosen
	each             // is chosen
	askEach
)

// take adds a job if it is chosen.
func (s *search) take(e entry) {
	v := s.verdicts[e.class]
	if v == notAsked {
		v = s.ask(e.class)
		s.verdicts[e.class] = v
	}
	if v == none {
		return
	}
	if at := e.k.submitted() * 1e9; at <= s.since || at >= s.until {
		return
	}
	if v == askEach {
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
