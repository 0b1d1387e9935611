// Package queue is the API's copy of the queue: what squeue lists, kept in memory, and how many jobs each user and account has in it. [Queue] is
// all there is.
package queue

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/restd"
	"fsub/federation/journal"
	"fsub/federation/quota"
)

// Queue is what squeue lists, kept in memory in squeue's order and already written as it is sent: a poll costs the reading of what
// has changed since the one before, by the store's log of changes, and no look at the jobs that have not. It holds what slurmctld
// would hold: live jobs, and those that ended within the time that they are kept. There may be a million of them, so what many
// have in common is there once.
type Queue struct {
	config atomic.Pointer[Config]

	looks // at the store

	mu      sync.Mutex // of what follows, which is written by who reads alone, but for the counts of submissions
	mark    mark       // of the store's log; 0: nothing has been read
	jobs    map[federation.JobID]*queuedJob
	kinds   map[federation.Job]*rowKind       // of jobs that wait alike
	groups  map[federation.JobID][]*queuedJob // by array or leader: its parts or components, which are separate jobs
	sorted  []*queueRow                       // in squeue's order, with rows that are dead
	fresh   []*queueRow                       // not in sorted yet
	dead    int                               // rows in sorted that are
	ended   map[federation.JobID]int64        // jobs that have ended, and when: nanoseconds since 1970
	byUser  map[string][]*queueRow            // of sorted; nil: to be made again
	world   world                             // the sites as the rows show them
	changes time.Time                         // when a row changes by the clock alone; zero: none does
	shown   bool                              // somebody has got rows since all was read
	swept   time.Time                         // when jobs were last forgotten for their age
	submits *submits                          // nil: nobody counts submissions
	lists   listings                          // of jobs, for pages and counts of them

	building sync.Mutex // of indexes, one at a time; it is held longer than mu

	shared, own []byte // of the row that is being made
}

// Config is what a Queue is made of.
type Config struct {
	Store   restd.Store
	Lister  *restd.Lister
	Users   *identity.Names
	Now     func() time.Time
	Keep    time.Duration // how long ended jobs are listed
	Cluster string        // the federation's name
	// Database names the one that Store is in: what was read of another is worth nothing. "": it has no name.
	Database string
	// Follows: another daemon leads. While the store does not answer, what is in memory is listed with its age.
	Follows bool
	// ReadTree reads the account tree again; nil: no other daemon changes it.
	ReadTree func(context.Context) error
}

// mark is a place in the store's log, which may be asked for without the lock: all may be read meanwhile, which takes long.
type mark struct{ at atomic.Int64 }

func (m *mark) get() journal.Mark   { return journal.Mark(m.at.Load()) }
func (m *mark) set(to journal.Mark) { m.at.Store(int64(to)) }

// New returns a Queue that has read nothing yet. It counts submissions if counts is not nil.
func New(c Config, counts *quota.Submits) *Queue {
	q := &Queue{looks: looks{turn: make(chan struct{}, 1)}}
	q.config.Store(&c)
	if counts != nil {
		q.submits = newSubmits(q, counts)
	}
	return q
}

func (q *Queue) cfg() *Config { return q.config.Load() }

// refresh takes up what was written before it was called. The lock is not held while the store is read, so that what is in memory can be listed.
func (q *Queue) refresh(ctx context.Context) error {
	now := q.cfg().Now()
	err := q.share(ctx, func() error { return q.readStore(ctx, now) })
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	return nil
}

// readStore reads what the store has that is new.
func (q *Queue) readStore(ctx context.Context, now time.Time) error {
	v := q.cfg().Lister.View()
	if q.mark.get() != 0 && q.world.changed(v) {
		err := q.remake(ctx, v)
		if errors.Is(err, errOtherForm) {
			q.forget()
		} else if err != nil {
			q.world.seen, q.world.text = nil, "" // it is made the next time
			return err
		}
	}
	err := q.follow(ctx, v, now)
	if errors.Is(err, federation.ErrTrimmed) {
		q.forget()
		err = q.follow(ctx, v, now)
	}
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.submits != nil {
		q.submits.read = now
	}
	if keep := q.cfg().Keep; now.Sub(q.swept) > keep/10 {
		q.sweep(now.Add(-keep))
		q.swept = now
	}
	return nil
}

// forget has all be read again.
func (q *Queue) forget() { q.mark.set(0) }

// readAll reads all of the store again.
func (q *Queue) readAll(ctx context.Context, v *restd.View, now time.Time, live func(context.Context, func([]federation.Job) error) error) error {
	log, err := q.cfg().Store.Changes(ctx, 0, 0)
	if err != nil {
		return err
	}
	if read := q.cfg().ReadTree; read != nil {
		if err := read(ctx); err != nil {
			return err
		}
	}
	q.clear(v)
	ended, err := q.cfg().Store.Jobs(ctx, federation.JobQuery{EndedAfter: now.Add(-q.cfg().Keep), States: federation.EndStates})
	if err == nil {
		err = q.takeAll(ctx, v, ended)
	}
	if err == nil {
		err = live(ctx, func(jobs []federation.Job) error { return q.takeAll(ctx, v, jobs) })
	}
	if err != nil {
		return err
	}
	q.mark.set(log.Mark)
	return nil
}

// takeAll takes up jobs as the store has them now, with their tasks.
func (q *Queue) takeAll(ctx context.Context, v *restd.View, jobs []federation.Job) error {
	tasks, err := q.tasksOf(ctx, jobs)
	for i := range jobs {
		if err == nil {
			q.take(v, &jobs[i], tasks[jobs[i].ID])
		}
	}
	return err
}

// tasksOf reads the tasks of those jobs that are arrays.
func (q *Queue) tasksOf(ctx context.Context, jobs []federation.Job) (map[federation.JobID][]federation.Task, error) {
	var arrays []federation.JobID
	for i := range jobs {
		if jobs[i].Spec.Array != "" || jobs[i].Whole != nil {
			arrays = append(arrays, jobs[i].ID)
		}
	}
	if len(arrays) == 0 {
		return nil, nil
	}
	return q.cfg().Store.TasksOf(ctx, arrays)
}

// clear forgets everything.
func (q *Queue) clear(v *restd.View) {
	q.jobs, q.groups, q.kinds = map[federation.JobID]*queuedJob{}, map[federation.JobID][]*queuedJob{}, map[federation.Job]*rowKind{}
	q.ended = map[federation.JobID]int64{}
	q.mark.set(0)
	q.sorted, q.fresh, q.dead, q.byUser, q.changes, q.shown = nil, nil, 0, nil, time.Time{}, false
	q.submits.clear()
	q.lists.clear()
	q.world.changed(v)
}

// overtaken are the jobs whose begin time has come without a write to them.
func (q *Queue) overtaken(now time.Time) (ids []federation.JobID) {
	if q.changes.IsZero() || now.Before(q.changes) {
		return nil
	}
	q.changes = time.Time{}
	for id, j := range q.jobs {
		switch {
		case j.rest == nil || j.rest.begin == 0:
		case j.rest.begin <= now.UnixNano():
			ids = append(ids, id)
		default:
			q.awaits(time.Unix(0, j.rest.begin))
		}
	}
	return ids
}

func (q *Queue) awaits(at time.Time) {
	if q.changes.IsZero() || at.Before(q.changes) {
		q.changes = at
	}
}

// take replaces the rows of a job.
func (q *Queue) take(v *restd.View, j *federation.Job, tasks []federation.Task) {
	q.drop(j.ID)
	if kind := q.kindOf(v, j); kind != nil {
		kind.rows++
		k := &queuedJob{row: queueRow{id: uint32(j.ID), priority: restd.Priority(j), submit: j.Submit.Unix(), kind: kind}}
		q.add(j.ID, k)
		q.lists.add(k)
		q.submits.takes(j.ID, k)
		return
	}
	rest := &queuedRest{empty: true, who: q.submits.of(j), list: q.lists.listingOf(j)}
	k := &queuedJob{rest: rest}
	if j.State.Ended() {
		if rest.end = unixNanos(j.End); rest.end != 0 {
			q.ended[j.ID] = rest.end
		}
	}
	for i, p := range restd.Parts(j, tasks) {
		if p.State == federation.Pending && j.Spec.Begin.After(v.Now) {
			rest.begin = j.Spec.Begin.UnixNano()
			q.awaits(j.Spec.Begin)
		}
		rest.empty = false
		rest.live += liveTasks(&p)
		row := &k.row
		if i > 0 {
			row = new(queueRow)
			rest.more = append(rest.more, row)
		}
		w := v.Record(&p)
		q.set(row, &w, j)
		if row.ended = p.State.Ended(); row.ended {
			row.own.end = unixNanos(p.End)
		}
		if rest.end != 0 && (row.own.end == 0 || rest.end < row.own.end) {
			row.own.end = rest.end // it goes with its array at the latest
		}
	}
	k.placeTasks()
	switch {
	case j.Part != nil:
		rest.group = j.Part.Array
	case j.Component != nil:
		rest.group = j.Component.Leader
	}
	if rest.group != 0 {
		q.groups[rest.group] = append(q.groups[rest.group], k)
	}
	q.add(j.ID, k)
	q.lists.add(k)
	q.submits.takes(j.ID, k)
}

// add puts a job into the queue that is not there.
func (q *Queue) add(id federation.JobID, k *queuedJob) {
	q.jobs[id] = k
	for r := range k.rows {
		q.fresh = append(q.fresh, r)
	}
	q.byUser = nil
}

// maxKinds bounds what is kept of jobs that wait alike: where few are, that would be more than it saves.
const maxKinds = 20_000

// kindOf is what the row of a job has in common with those of others that wait like it; nil: it is written on its own.
func (q *Queue) kindOf(v *restd.View, j *federation.Job) *rowKind {
	like, ok := alike(j)
	if !ok {
		return nil
	}
	kind := q.kinds[like]
	if kind == nil && len(q.kinds) < maxKinds {
		first := like
		if kind, ok = kindOf(v, &first); ok {
			kind.who, kind.class = q.submits.of(&first), q.lists.classOfKind(&first)
			q.kinds[like] = kind
		}
	}
	return kind
}

func unixNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// drop takes out the rows of a job.
func (q *Queue) drop(id federation.JobID) {
	k := q.jobs[id]
	if k == nil {
		return
	}
	delete(q.jobs, id)
	delete(q.ended, id)
	q.submits.drops(k)
	q.lists.remove(k)
	for r := range k.rows {
		r.dead = true
		q.dead++
	}
	q.byUser = nil
	if k.rest == nil {
		if kind := k.row.kind; kind.rows > 1 {
			kind.rows--
		} else {
			delete(q.kinds, *kind.job)
		}
	} else if group := k.rest.group; group != 0 {
		left := slices.DeleteFunc(q.groups[group], func(x *queuedJob) bool { return x == k })
		if q.groups[group] = left; len(left) == 0 {
			delete(q.groups, group)
		}
	}
}

// sweep forgets jobs that ended before a time.
func (q *Queue) sweep(before time.Time) {
	for id, end := range q.ended {
		if end < before.UnixNano() {
			q.drop(id)
		}
	}
}

// rows are all of them in squeue's order. The slice is not changed later.
func (q *Queue) rows() []*queueRow {
	if len(q.fresh) == 0 && q.dead == 0 {
		return q.sorted
	}
	fresh := slices.DeleteFunc(q.fresh, func(r *queueRow) bool { return r.dead })
	slices.SortFunc(fresh, squeueOrder)
	all := make([]*queueRow, 0, len(q.sorted)+len(fresh))
	for _, r := range q.sorted {
		if r.dead {
			continue
		}
		for len(fresh) > 0 && squeueOrder(fresh[0], r) < 0 {
			all, fresh = append(all, fresh[0]), fresh[1:]
		}
		all = append(all, r)
	}
	q.sorted, q.fresh, q.dead, q.byUser = append(all, fresh...), nil, 0, nil
	return q.sorted
}

// rowsOf are the rows of one user in squeue's order.
func (q *Queue) rowsOf(user string) []*queueRow {
	all := q.rows()
	if q.byUser == nil {
		q.byUser = map[string][]*queueRow{}
		for _, r := range all {
			user := r.kind.facts.Value().user
			q.byUser[user] = append(q.byUser[user], r)
		}
	}
	return q.byUser[user]
}
