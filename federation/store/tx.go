package store

import (
	"errors"
	"fmt"
	"time"

	"fsub/federation"
)

// tx is the writer's transaction, one after the other on the same connection. Its errors wrap one of the federation's;
// ErrUnavailable means that the transaction is lost.
type tx struct {
	db          session
	first, last federation.JobID
	counters
	stored counters // what the meta table holds
	usedUp bool     // no ID is free: spares a search of the whole range, until jobs are deleted

	shared  *sequences // on PostgreSQL: numbers come from there, and not from the counters
	careful bool       // each write is done by itself

	log         []changeRecord // of the transaction that is under way
	changedAt   int64          // when the newest commit in the log was made
	keepChanges int64
	keepFor     time.Duration
}

// counters number things. They are stored with every transaction that has moved them.
type counters struct {
	nextJob    federation.JobID // where to look for the next free ID
	rev        int64
	eventSeq   int64
	requestSeq int64
	poolSeq    int64

	changeSeq, changeTotal int64
}

func newTx(db session, c Config) *tx {
	return &tx{db: db, first: c.FirstID, last: c.LastID, keepChanges: c.KeepChanges, keepFor: c.KeepFor}
}

// apart does those of the group that can be done in one transaction and leaves in the others why they cannot.
func (t *tx) apart(group []*write) error {
	t.careful = true
	defer func() { t.careful = false }()
	return t.transaction(func() error {
		for _, p := range group {
			if p.err = t.savepoint(p); errors.Is(p.err, federation.ErrUnavailable) || errors.Is(p.err, errAgain) {
				return p.err
			}
		}
		return nil
	})
}

// againAtOnce is how often a transaction is done again because it was in another one's way.
const againAtOnce = 5

// again does a transaction as often as the database asks for it, within bounds.
func again(do func() error) (err error) {
	for range againAtOnce {
		if err = do(); !errors.Is(err, errAgain) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", federation.ErrUnavailable, err)
}

// all does the writes of a group, one after the other.
func (t *tx) all(group []*write) error {
	for _, p := range group {
		if err := p.run(t); err != nil {
			return err
		}
	}
	return nil
}

// transaction commits what do does, unless it fails. The counters follow.
func (t *tx) transaction(do func() error) error {
	before := t.counters
	t.log = t.log[:0]
	err := t.db.begin()
	if err == nil {
		err = do()
	}
	if err == nil {
		err = t.db.settle()
	}
	if err == nil {
		err = t.db.commit(t)
	}
	if err != nil {
		t.db.rollback()
		if t.nextJob != before.nextJob {
			t.usedUp = false // what used them up is undone
		}
		t.counters = before
	}
	if t.shared != nil {
		t.shared.ended()
	}
	return err
}

// next is the next number that c counts, or a sequence gives.
func (t *tx) next(c *int64, sequence string) (int64, error) {
	if t.shared != nil {
		return t.shared.next(t, sequence)
	}
	*c++
	return *c, nil
}

// savepoint does p so that its failure leaves nothing of it behind.
func (t *tx) savepoint(p *write) error {
	before, noted := t.counters, len(t.log)
	if err := t.later(nil, "SAVEPOINT one"); err != nil {
		return err
	}
	failed := p.run(t)
	if failed == nil {
		failed = t.db.settle()
	}
	if failed == nil {
		if _, failed = t.exec("RELEASE one"); failed == nil {
			return nil
		}
	}
	if errors.Is(failed, federation.ErrUnavailable) || errors.Is(failed, errAgain) {
		return failed
	}
	t.counters, t.log = before, t.log[:noted]
	if _, err := t.exec("ROLLBACK TO one"); err != nil {
		return err
	}
	if err := t.later(nil, "RELEASE one"); err != nil {
		return err
	}
	return failed
}

// exec runs one statement and returns how many rows it has changed.
func (t *tx) exec(text string, args ...any) (rows int64, err error) { return t.db.exec(text, args) }

// later is session.later; done may be nil.
func (t *tx) later(done func(rows int64, err error) error, text string, args ...any) error {
	return t.db.later(text, args, done)
}

// each calls take with each row of a query.
func (t *tx) each(take func(*row), text string, args ...any) error {
	return t.db.each(text, args, take)
}

// number runs a query that gives one number or no row at all.
func (t *tx) number(text string, args ...any) (n int64, found bool, err error) {
	err = t.each(func(r *row) { n, found = r.int(), true }, text, args...)
	return n, found, err
}

// numbers runs a statement that gives any number of rows, of one number each.
func (t *tx) numbers(text string, args ...any) (all []int64, err error) {
	err = t.each(func(r *row) { all = append(all, r.int()) }, text, args...)
	return all, err
}

// freeID returns the next free job ID: from nextJob to the end of the range, then from its beginning. Jobs that still
// exist keep theirs.
func (t *tx) freeID() (id federation.JobID, err error) {
	ok := false
	if !t.usedUp {
		id, ok, err = t.freeIn(t.nextJob, t.last)
	}
	if err == nil && !ok && !t.usedUp && t.nextJob > t.first {
		id, ok, err = t.freeIn(t.first, t.nextJob-1)
	}
	if err == nil && !ok {
		t.usedUp = true
		err = fmt.Errorf("%w: every job ID from %d to %d is used: widen the range or delete old jobs", federation.ErrConflict, t.first, t.last)
	}
	return id, err
}

// freeRun returns free job IDs that follow each other, at most n: the next one and those after it.
func (t *tx) freeRun(n int) ([]federation.JobID, error) {
	id, err := t.freeID()
	if err != nil {
		return nil, err
	}
	end := min(t.last, id+federation.JobID(n)-1)
	taken, found, err := t.number("SELECT id FROM jobs WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 1", int64(id), int64(end))
	if err != nil {
		return nil, err
	}
	if found {
		end = federation.JobID(taken) - 1
	}
	run := make([]federation.JobID, 0, end-id+1)
	for ; id <= end; id++ {
		run = append(run, id)
	}
	return run, nil
}

// roomFor moves on to where n IDs in a row are free.
func (t *tx) roomFor(n int) error {
	if t.shared != nil {
		return t.shared.roomFor(t, n)
	}
	return t.searchRoom(n)
}

// searchRoom is roomFor from nextJob on.
func (t *tx) searchRoom(n int) error {
	wrapped := false
	for id := t.nextJob; ; {
		end := id + federation.JobID(n) - 1
		if end > t.last || end < id {
			if wrapped {
				return fmt.Errorf("%w: no %d job IDs in a row are free", federation.ErrConflict, n)
			}
			id, wrapped = t.first, true
			if end = id + federation.JobID(n) - 1; end > t.last {
				return fmt.Errorf("%w: the range of job IDs is smaller than %d", federation.ErrConflict, n)
			}
		}
		taken, found, err := t.number("SELECT id FROM jobs WHERE id >= $1 AND id <= $2 ORDER BY id DESC LIMIT 1", int64(id), int64(end))
		if err != nil {
			return err
		}
		if !found {
			t.nextJob = id
			return nil
		}
		id = federation.JobID(taken) + 1
	}
}

// freeIn returns the lowest free ID from first to last.
func (t *tx) freeIn(first, last federation.JobID) (federation.JobID, bool, error) {
	_, taken, err := t.number("SELECT id FROM jobs WHERE id = $1", int64(first))
	if err != nil || !taken {
		return first, !taken, err
	}
	// The free one after the first run of taken ones.
	id, ok, err := t.number("SELECT j.id + 1 FROM jobs j WHERE j.id >= $1 AND j.id < $2 "+
		"AND NOT EXISTS (SELECT 1 FROM jobs k WHERE k.id = j.id + 1) ORDER BY j.id LIMIT 1", int64(first), int64(last))
	return federation.JobID(id), ok, err
}
