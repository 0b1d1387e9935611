package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// An index has the listed jobs in one order, in blocks, so that a job that comes or goes moves few others. It is made when somebody first asks for its order, and goes when
// nobody has for a while: of a million jobs it takes some 20 MB.
type index struct {
	by     *listOrder
	blocks [][]entry // none is empty
	used   time.Time
}

// entry is one job of an index, with its class beside it: a search passes most jobs without a look at them.
type entry struct {
	k     *queuedJob
	class int32
}

const (
	blockSize  = 512
	indexStays = time.Hour
)

// listOrder is an order of listed jobs. Those with the same key are in order of ID.
type listOrder struct {
	name string
	text func(f *Facts) string // the key, where it is a text that all jobs of a class have in common; nil: it is a number
	key  func(q *listings, k *queuedJob) sortKey
}

func listNumber(name string, of func(k *queuedJob) int64) listOrder {
	return listOrder{name, nil, func(_ *listings, k *queuedJob) sortKey { return sortKey{number: of(k)} }}
}

// listTime puts jobs that have not come so far behind all others.
func listTime(name string, of func(x *listing) int64) listOrder {
	return listNumber(name, func(k *queuedJob) int64 {
		if k.rest == nil {
			return notYet
		}
		return cmp.Or(of(k.rest.list), notYet)
	})
}

const notYet = 1 << 62

func listText(name string, of func(f *Facts) string) listOrder {
	return listOrder{name, of, func(q *listings, k *queuedJob) sortKey { return sortKey{text: of(&q.classes.all[k.class()].Facts)} }}
}

// listOrders are the orders in which jobs can be listed.
var listOrders = []listOrder{
	listNumber("id", func(k *queuedJob) int64 { return 0 }),
	listNumber("submit", (*queuedJob).submitted),
	listNumber("priority", func(k *queuedJob) int64 { return k.row.priority }),
	listText("state", func(f *Facts) string { return string(f.State) }),
	listText("user", func(f *Facts) string { return f.User }),
	listText("account", func(f *Facts) string { return f.Account }),
	listText("site", func(f *Facts) string { return string(f.Site) }),
	listTime("start", func(x *listing) int64 { return x.start }),
	listNumber("cost", func(k *queuedJob) int64 {
		if k.rest == nil {
			return int64(k.row.kind.job.Cost)
		}
		return int64(k.rest.list.cost)
	}),
}

var byID = &listOrders[0]

// ListOrders are the names of the orders in which jobs can be listed.
func ListOrders() []string {
	names := make([]string, len(listOrders))
	for i := range listOrders {
		names[i] = listOrders[i].name
	}
	return names
}

// readListOrder reads the name of an order, with - before it from the last to the first.
func readListOrder(text string) (by *listOrder, down bool, err error) {
	name, down := strings.CutPrefix(cmp.Or(text, "id"), "-")
	i := slices.IndexFunc(listOrders, func(o listOrder) bool { return o.name == name })
	if i < 0 {
		return nil, false, fmt.Errorf("invalid sort %q: want one of %s, with - before it from the last to the first", text, strings.Join(ListOrders(), ", "))
	}
	return &listOrders[i], down, nil
}

func (k *queuedJob) id() federation.JobID {
	if k.rest == nil {
		return federation.JobID(k.row.id)
	}
	return k.rest.list.id
}

// submitted is when a job was, in seconds since 1970.
func (k *queuedJob) submitted() int64 {
	if k.rest == nil {
		return k.row.submit
	}
	return k.rest.list.submit
}

// place is where a job stands in an order.
type place struct {
	key sortKey
	id  federation.JobID
}

func (p *place) compare(other *place) int {
	return cmp.Or(p.key.compare(other.key), cmp.Compare(p.id, other.id))
}

func (q *listings) placeOf(by *listOrder, k *queuedJob) place { return place{by.key(q, k), k.id()} }

// index is that of an order. jobs are all, if it has to be made.
func (q *listings) index(by *listOrder, jobs map[federation.JobID]*queuedJob, now time.Time) *index {
	q.indexes = slices.DeleteFunc(q.indexes, func(x *index) bool { return x.by != by && now.Sub(x.used) > indexStays })
	for _, x := range q.indexes {
		if x.by == by {
			x.used = now
			return x
		}
	}
	b := q.begin(by, jobs)
	return q.finish(b, b.sorted(), now)
}

// has reports whether there is the index of an order.
func (q *listings) has(by *listOrder) bool {
	return slices.ContainsFunc(q.indexes, func(x *index) bool { return x.by == by })
}

// find is where a place is, or would come: before position i of block b.
func (x *index) find(q *listings, at *place) (b, i int) {
	before := func(e entry, at *place) int {
		p := q.placeOf(x.by, e.k)
		return p.compare(at)
	}
	b, _ = slices.BinarySearchFunc(x.blocks, at, func(block []entry, at *place) int { return before(block[len(block)-1], at) })
	if b < len(x.blocks) {
		i, _ = slices.BinarySearchFunc(x.blocks[b], at, before)
	}
	return b, i
}

func (x *index) insert(q *listings, k *queuedJob) {
	at := q.placeOf(x.by, k)
	b, i := x.find(q, &at)
	e := entry{k, k.class()}
	switch {
	case len(x.blocks) == 0:
		x.blocks = [][]entry{append(make([]entry, 0, blockSize), e)}
		return
	case b == len(x.blocks):
		b--
		i = len(x.blocks[b])
	}
	block := slices.Insert(x.blocks[b], i, e)
	if len(block) < blockSize {
		x.blocks[b] = block
		return
	}
	half := len(block) / 2
	if i == len(block)-1 && b == len(x.blocks)-1 {
		half = len(block) - 1 // they come in order: what is full stays so
	}
	next := append(make([]entry, 0, blockSize), block[half:]...)
	clear(block[half:])
	x.blocks[b] = block[:half]
	x.blocks = slices.Insert(x.blocks, b+1, next)
}

func (x *index) remove(q *listings, k *queuedJob) {
	at := q.placeOf(x.by, k)
	b, i := x.find(q, &at)
	if block := slices.Delete(x.blocks[b], i, i+1); len(block) > 0 {
		x.blocks[b] = block
	} else {
		x.blocks = slices.Delete(x.blocks, b, b+1)
	}
}

// walk gives the entries behind a place, or with back those before it from the last to the first; all where at is nil.
func (x *index) walk(q *listings, at *place, back bool, yield func(entry) bool) {
	b, i := 0, 0
	switch {
	case at != nil:
		b, i = x.find(q, at)
		if !back && b < len(x.blocks) && x.blocks[b][i].k.id() == at.id {
			if p := q.placeOf(x.by, x.blocks[b][i].k); p.compare(at) == 0 {
				i++
			}
		}
	case back:
		b = len(x.blocks)
	}
	if back {
		for ; b >= 0; b-- {
			if b < len(x.blocks) {
				for _, e := range slices.Backward(x.blocks[b][:i]) {
					if !yield(e) {
						return
					}
				}
			}
			if b > 0 {
				i = len(x.blocks[b-1])
			}
		}
		return
	}
	for ; b < len(x.blocks); b, i = b+1, 0 {
		for _, e := range x.blocks[b][i:] {
			if !yield(e) {
				return
			}
		}
	}
}
