package store

import (
	"fmt"

	"fsub/federation"
)

// sequences are where a transaction on PostgreSQL takes its numbers from. It takes as many as it needs and keeps none for later ones, so that numbers follow the
// order of transactions, whichever daemon makes them.
type sequences struct {
	waiting func() int // how many job IDs those want who wait for the writer
	ids     []drawn
	spans   map[string]*span
}

// span are numbers that were taken at once.
type span struct{ next, end int64 }

// blockSize is how many numbers a sequence gives at once.
var blockSize = map[string]int64{revs: 64, eventSeqs: 64, requestSeqs: 1, poolSeqs: 64}

const (
	revs        = "revs"
	eventSeqs   = "event_seqs"
	requestSeqs = "request_seqs"
	poolSeqs    = "pool_seqs"
)

// ended forgets the numbers of a transaction. IDs that were taken for those who still wait are theirs.
func (q *sequences) ended() {
	clear(q.spans)
	if q.waiting() == 0 {
		q.ids = nil
	}
}

func (q *sequences) next(t *tx, name string) (int64, error) {
	b := q.spans[name]
	if b == nil || b.next == b.end {
		n, _, err := t.number("SELECT nextval('" + name + "')")
		if err != nil {
			return 0, err
		}
		b = &span{n, n + blockSize[name]}
		if q.spans == nil {
			q.spans = make(map[string]*span)
		}
		q.spans[name] = b
	}
	b.next++
	return b.next - 1, nil
}

// drawn is a job ID with the Rev of a new job.
type drawn struct {
	id  federation.JobID
	rev int64
}

// job is the ID to try next, and not one that was tried already.
func (q *sequences) job(t *tx) (d drawn, err error) {
	if len(q.ids) == 0 {
		err = t.each(func(r *row) { q.ids = append(q.ids, drawn{federation.JobID(r.int()), r.int()}) },
			"SELECT nextval('job_ids'), nextval('revs') FROM generate_series(1, $1)", int64(1+min(q.waiting(), maxGroup)))
		if err != nil {
			return d, err
		}
	}
	d = q.ids[0]
	q.ids = q.ids[1:]
	return d, nil
}

// draw takes n job IDs from the sequence. Jobs may have them: it begins again at its end.
func (t *tx) draw(n int) ([]federation.JobID, error) {
	all, err := t.numbers("SELECT nextval('job_ids') FROM generate_series(1, $1)", int64(n))
	ids := make([]federation.JobID, len(all))
	for i, id := range all {
		ids[i] = federation.JobID(id)
	}
	return ids, err
}

// draws is how often IDs are drawn before those that are free are searched for.
const draws = 8

// roomFor takes care that the next n IDs of this transaction follow one another and are free.
func (q *sequences) roomFor(t *tx, n int) error {
	rev, err := q.next(t, revs)
	if err != nil {
		return err
	}
	for range draws {
		ids, err := t.draw(n)
		if err != nil {
			return err
		}
		if first, last := ids[0], ids[n-1]; int(last-first) == n-1 {
			_, taken, err := t.number("SELECT id FROM jobs WHERE id >= $1 AND id <= $2 LIMIT 1", int64(first), int64(last))
			if err != nil {
				return err
			}
			if !taken {
				q.ids = append([]drawn{{first, rev}}, q.ids...)
				return nil
			}
		}
		t.nextJob = ids[0]
	}
	if err := t.searchRoom(n); err != nil {
		return err
	}
	q.ids = append([]drawn{{t.nextJob, rev}}, q.ids...)
	return t.goOnAfter(t.nextJob + federation.JobID(n) - 1)
}

// goOnAfter has the sequence give the IDs after one that was found by a search.
func (t *tx) goOnAfter(id federation.JobID) error {
	_, _, err := t.number("SELECT setval('job_ids', $1)", int64(id))
	return err
}

// reserve is ReserveIDs.
func (q *sequences) reserve(t *tx, n int) ([]federation.JobID, error) {
	free := make([]federation.JobID, 0, n)
	for range draws {
		ids, err := t.draw(n - len(free))
		if err != nil {
			return nil, err
		}
		t.nextJob = ids[len(ids)-1]
		for len(ids) > 0 { // in pieces that go up
			end := 1
			for end < len(ids) && ids[end] > ids[end-1] {
				end++
			}
			taken, err := t.numbers("SELECT id FROM jobs WHERE id >= $1 AND id <= $2", int64(ids[0]), int64(ids[end-1]))
			if err != nil {
				return nil, err
			}
			used := make(map[federation.JobID]bool, len(taken)+len(free))
			for _, id := range taken {
				used[federation.JobID(id)] = true
			}
			for _, id := range free {
				used[id] = true
			}
			for _, id := range ids[:end] {
				if used[id] {
					continue
				}
				free = append(free, id)
			}
			ids = ids[end:]
		}
		if len(free) == n {
			return free, nil
		}
	}
	if len(free) > 0 {
		return nil, fmt.Errorf("%w: only %d job IDs are free", federation.ErrConflict, len(free))
	}
	_, err := t.freeID()
	if err == nil {
		err = fmt.Errorf("%w: hardly any job ID is free: widen the range or delete old jobs", federation.ErrConflict)
	}
	return nil, err
}
