package queue

import (
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// build is an index that is being made. The jobs are taken, and what has come and gone meanwhile is taken up, with the queue's lock held; they are sorted without it.
// What is read of a job and of a class there does not change.
type build struct {
	by    *listOrder
	all   []entry // that were listed when it began, in order of ID if inIDs
	inIDs bool
	ranks []int // of an order by a text: of each class
	news  *news
}

// news is what has come and gone since a build began.
type news struct {
	came []*queuedJob
	gone map[*queuedJob]bool
}

// prepare makes the index of an order if there is none. The queue goes on meanwhile.
func (l Lists) prepare(by *listOrder) {
	q := l.Queue
	q.building.Lock()
	defer q.building.Unlock()
	for done := false; !done; {
		q.mu.Lock()
		if q.lists.has(by) {
			q.mu.Unlock()
			return
		}
		b := q.lists.begin(by, q.jobs)
		q.mu.Unlock()
		all := b.sorted()
		q.mu.Lock()
		if done = q.lists.news == b.news; done { // else all was forgotten
			q.lists.finish(b, all, q.cfg().Now())
		}
		q.mu.Unlock()
	}
}

// begin takes the jobs for an index.
func (q *listings) begin(by *listOrder, jobs map[federation.JobID]*queuedJob) *build {
	b := &build{by: by, news: &news{gone: map[*queuedJob]bool{}}}
	q.news = b.news
	if by.text != nil {
		b.ranks = q.ranks(by.text)
	}
	for _, x := range q.indexes {
		if b.inIDs = x.by == byID; b.inIDs {
			b.all = make([]entry, 0, len(jobs))
			for _, block := range x.blocks {
				b.all = append(b.all, block...)
			}
			return b
		}
	}
	b.all = make([]entry, 0, len(jobs))
	for _, k := range jobs {
		if k.isListed() {
			b.all = append(b.all, entry{k, k.class()})
		}
	}
	return b
}

// ranks are the places of the classes in an order by a text that they have.
func (q *listings) ranks(text func(*Facts) string) []int {
	places := map[string]int{}
	for i := range q.classes.all {
		places[text(&q.classes.all[i].Facts)] = 0
	}
	for at, one := range slices.Sorted(maps.Keys(places)) {
		places[one] = at
	}
	out := make([]int, len(q.classes.all))
	for i := range q.classes.all {
		out[i] = places[text(&q.classes.all[i].Facts)]
	}
	return out
}

// sorted are the jobs in the order.
func (b *build) sorted() []entry {
	if !b.inIDs {
		b.all = inOrder(b.all, func(e entry) int64 { return int64(e.k.id()) })
	}
	switch {
	case b.by == byID:
		return b.all
	case b.ranks != nil:
		return b.byRank()
	}
	return inOrder(b.all, func(e entry) int64 { return b.by.key(nil, e.k).number })
}

// inOrder sorts jobs by a number. Those with the same stay as they are.
func inOrder(all []entry, number func(entry) int64) []entry {
	type numbered struct {
		key int64
		at  int
	}
	order := make([]numbered, len(all))
	for i, e := range all {
		order[i] = numbered{number(e), i}
	}
	slices.SortFunc(order, func(a, b numbered) int {
		switch {
		case a.key < b.key || a.key == b.key && a.at < b.at:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	out := make([]entry, len(all))
	for i := range order {
		out[i] = all[order[i].at]
	}
	return out
}

// byRank are the jobs in order of the ranks of their classes, and of ID: each goes to its place at once.
func (b *build) byRank() []entry {
	next := make([]int, len(b.ranks)+1) // where the next job of each rank comes
	for _, e := range b.all {
		next[b.ranks[e.class]+1]++
	}
	for rank := 1; rank < len(next); rank++ {
		next[rank] += next[rank-1]
	}
	out := make([]entry, len(b.all))
	for _, e := range b.all {
		rank := b.ranks[e.class]
		out[next[rank]] = e
		next[rank]++
	}
	return out
}

// finish makes the index of sorted jobs, and takes up what has come and gone since they were taken.
func (q *listings) finish(b *build, all []entry, now time.Time) *index {
	q.news = nil
	if gone := b.news.gone; len(gone) > 0 {
		all = slices.DeleteFunc(all, func(e entry) bool { return gone[e.k] })
	}
	x := &index{by: b.by, used: now}
	for some := range slices.Chunk(all, blockSize*3/4) {
		x.blocks = append(x.blocks, append(make([]entry, 0, blockSize), some...))
	}
	for _, k := range b.news.came {
		if !b.news.gone[k] {
			x.insert(q, k)
		}
	}
	q.indexes = append(q.indexes, x)
	return x
}
