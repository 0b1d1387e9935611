package api

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"fsub/federation"
	"fsub/federation/api/listing"
	"fsub/federation/api/refusal"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// queue is what squeue lists, kept in memory in squeue's order and already written as it is sent: a poll costs the reading of what
// has changed since the one before, by the store's log of changes, and no look at the jobs that have not. It holds what slurmctld
// would hold: live jobs, and those that ended within the time that they are kept. There may be a million of them, so what many
// have in common is there once.
type queue struct {
	store federation.Store
	view  func() *listing.View
	now   func() time.Time
	keep  time.Duration // how long ended jobs are listed

	mu      sync.Mutex
	mark    federation.LogMark // of the store's log; 0: nothing has been read
	jobs    map[federation.JobID]*queuedJob
	groups  map[federation.JobID][]*queuedJob // by array or leader: its parts or components, which are jobs of their own
	sorted  []*queueRow                       // in squeue's order, with rows that are dead
	fresh   []*queueRow                       // not in sorted yet
	dead    int                               // rows in sorted that are
	byUser  map[string][]*queueRow            // of sorted; nil: to be made again
	world   string                            // what of the sites the rows depend on
	seen    []*federation.Observation         // of which world was made
	changes time.Time                         // when a row changes by the clock alone; zero: none does
	swept   time.Time                         // when jobs were last forgotten for their age

	shared, own []byte // of the row that is being made
}

// queuedJob is a job with its rows: one, or for an array one for each started task and one for the rest. An array whose tasks are all jobs
// of their own has none.
type queuedJob struct {
	job   federation.JobID
	group federation.JobID // the array or leader to which it belongs; 0: none
	end   int64            // in nanoseconds since 1970; 0: live
	begin int64            // its rows change then; 0: they do not
	empty bool             // there are no rows
	row   queueRow         // the first
	more  []*queueRow
}

// rows is an iterator over the rows of k.
func (k *queuedJob) rows(yield func(*queueRow) bool) {
	if k.empty || !yield(&k.row) {
		return
	}
	for _, r := range k.more {
		if !yield(r) {
			return
		}
	}
}

// queueRow is one line of squeue: what rows are selected and ordered by, and the row as it is sent. It is not changed once it is made,
// but for dead, which the queue's lock guards.
type queueRow struct {
	id, raw  uint32 // the number that the shown ID begins with, and its own
	place    uint32 // where slurmctld would have it in its list
	task     int32  // index of the task, waitingTasks for those that have not started
	priority int64
	end      int64 // when it, or the array that it is of, ended, in nanoseconds since 1970; 0: neither has
	facts    unique.Handle[rowFacts]
	shared   unique.Handle[string] // the fields that like jobs have in common, as they are sent
	own      string                // the others
	ended    bool
	dead     bool
}

// rowFacts are what many rows have in common.
type rowFacts struct {
	user, part, account, qos, cluster string
	uid                               wire.Int
	state                             string // as squeue shows it: a flag goes before the base state
	base, short                       string
}

// bytes appends the row as v1 writes it.
func (r *queueRow) bytes(b []byte) []byte { return append(append(b, r.shared.Value()...), r.own...) }

func (r *queueRow) size() int { return len(r.shared.Value()) + len(r.own) }

// refresh takes up what was written since the last call. The store is read with the lock held: others who call meanwhile would
// read the same.
func (q *queue) refresh(ctx context.Context) error {
	now, v := q.now(), q.view()
	if q.mark != 0 && q.otherWorld(v) {
		q.mark = 0 // also if this fails half-way
	}
	err := q.follow(ctx, v, now)
	if errors.Is(err, federation.ErrTrimmed) {
		q.mark = 0
		err = q.follow(ctx, v, now)
	}
	if err != nil {
		return refusal.OfStore(err, refusal.NoContact)
	}
	if now.Sub(q.swept) > q.keep/10 {
		q.sweep(now.Add(-q.keep))
		q.swept = now
	}
	return nil
}

// follow reads all jobs, or those that the log tells of and those whose time has come.
func (q *queue) follow(ctx context.Context, v *listing.View, now time.Time) error {
	if q.mark == 0 {
		return q.readAll(ctx, v, now)
	}
	mark, changed, err := listing.ChangedJobs(ctx, q.store, q.mark)
	if err != nil {
		return err
	}
	for _, id := range q.overtaken(now) {
		changed[id] = true
	}
	if len(changed) > 0 {
		ids := slices.Sorted(maps.Keys(changed))
		jobs, err := q.store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
		if err == nil {
			err = q.takeAll(ctx, v, jobs)
		}
		if err != nil {
			q.changes = now // what was overtaken is looked for again
			return err
		}
		for i := range jobs {
			delete(changed, jobs[i].ID)
		}
		for id := range changed {
			q.drop(id) // deleted
		}
	}
	q.mark = mark
	return nil
}

// readAll reads the store anew.
func (q *queue) readAll(ctx context.Context, v *listing.View, now time.Time) error {
	log, err := q.store.Changes(ctx, 0, 0)
	if err != nil {
		return err
	}
	q.clear(v)
	ended, err := q.store.Jobs(ctx, federation.JobQuery{EndedAfter: now.Add(-q.keep), States: federation.EndStates})
	if err == nil {
		err = q.takeAll(ctx, v, ended)
	}
	if err == nil {
		err = q.store.LiveJobs(ctx, func(jobs []federation.Job) error { return q.takeAll(ctx, v, jobs) })
	}
	if err != nil {
		return err
	}
	q.mark = log.Mark
	return nil
}

// takeAll takes up jobs as the store has them now, with their tasks.
func (q *queue) takeAll(ctx context.Context, v *listing.View, jobs []federation.Job) error {
	var arrays []federation.JobID
	for i := range jobs {
		if jobs[i].Spec.Array != "" || jobs[i].Whole != nil {
			arrays = append(arrays, jobs[i].ID)
		}
	}
	var tasks map[federation.JobID][]federation.Task
	if len(arrays) > 0 {
		var err error
		if tasks, err = q.store.TasksOf(ctx, arrays); err != nil {
			return err
		}
	}
	for i := range jobs {
		q.take(v, &jobs[i], tasks[jobs[i].ID])
	}
	return nil
}

// clear forgets everything.
func (q *queue) clear(v *listing.View) {
	q.jobs, q.groups = map[federation.JobID]*queuedJob{}, map[federation.JobID][]*queuedJob{}
	q.mark, q.sorted, q.fresh, q.dead, q.byUser, q.changes = 0, nil, nil, 0, nil, time.Time{}
	q.otherWorld(v)
}

// otherWorld reports whether the sites have changed in what rows depend on: partitions' limits and defaults, and the types of GRES.
func (q *queue) otherWorld(v *listing.View) bool {
	seen := make([]*federation.Observation, len(v.Sites))
	for i, site := range v.Sites {
		seen[i] = site.Seen
	}
	if slices.Equal(seen, q.seen) {
		return false
	}
	q.seen = seen
	before := q.world
	q.world = worldOf(v)
	return q.world != before
}

func worldOf(v *listing.View) string {
	b := []byte(v.Default)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	text := func(s string) { b = append(append(b, s...), 0) }
	for _, site := range v.Sites {
		text(string(site.Name))
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Partitions {
			p := &site.Seen.Partitions[i]
			text(p.Name)
			number(int64(p.MaxTime))
			number(int64(p.DefaultTime))
			number(int64(p.DefMemPerCPU))
			number(int64(p.DefMemPerNode))
		}
		for i := range site.Seen.Nodes {
			n := &site.Seen.Nodes[i]
			text(n.Name)
			for _, g := range n.GRES {
				text(g.Name)
				text(g.Type)
			}
		}
	}
	return string(b)
}

// overtaken are the jobs whose begin time has come without a write to them.
func (q *queue) overtaken(now time.Time) (ids []federation.JobID) {
	if q.changes.IsZero() || now.Before(q.changes) {
		return nil
	}
	q.changes = time.Time{}
	for id, j := range q.jobs {
		switch {
		case j.begin == 0:
		case j.begin <= now.UnixNano():
			ids = append(ids, id)
		default:
			q.awaits(time.Unix(0, j.begin))
		}
	}
	return ids
}

func (q *queue) awaits(at time.Time) {
	if q.changes.IsZero() || at.Before(q.changes) {
		q.changes = at
	}
}

// take replaces the rows of a job.
func (q *queue) take(v *listing.View, j *federation.Job, tasks []federation.Task) {
	q.drop(j.ID)
	k := &queuedJob{job: j.ID, empty: true}
	if j.State.Ended() {
		k.end = unixNanos(j.End)
	}
	for i, p := range listing.Parts(j, tasks) {
		if p.State == federation.Pending && j.Spec.Begin.After(v.Now) {
			k.begin = j.Spec.Begin.UnixNano()
			q.awaits(j.Spec.Begin)
		}
		k.empty = false
		row := &k.row
		if i > 0 {
			row = new(queueRow)
			k.more = append(k.more, row)
		}
		w := v.Record(&p)
		q.set(row, &w)
		if row.ended = p.State.Ended(); row.ended {
			row.end = unixNanos(p.End)
		}
		if k.end != 0 && (row.end == 0 || k.end < row.end) {
			row.end = k.end // it goes with its array at the latest
		}
	}
	k.placeTasks()
	q.jobs[j.ID] = k
	switch {
	case j.Part != nil:
		k.group = j.Part.Array
	case j.Component != nil:
		k.group = j.Component.Leader
	}
	if k.group != 0 {
		q.groups[k.group] = append(q.groups[k.group], k)
	}
	for r := range k.rows {
		q.fresh = append(q.fresh, r)
	}
	q.byUser = nil
}

func unixNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// set fills in a row from the record that it shows.
func (q *queue) set(r *queueRow, w *wire.Job) {
	r.id, r.raw, r.task, r.priority = uint32(masterID(w)), uint32(w.JobID), taskIndex(w), w.Priority.Value()
	f := rowFacts{
		user: w.UserName, uid: w.UserID, part: w.Partition, account: w.Account, qos: w.QOS, cluster: w.Cluster,
		state: wire.ShownState(w.State), base: wire.BaseState(w.State),
	}
	f.short = wire.CompactState(f.state)
	r.facts = unique.Make(f)
	q.shared, q.own = v1.AppendRow(q.shared[:0], q.own[:0], w)
	r.shared, r.own = unique.Make(string(q.shared)), string(q.own)
}

// placeTasks gives the rows of a job the places that they have in slurmctld's list: the first task of an array that starts takes over
// the array's, any other gets its own by its number. Numbers that a site gave are lower than any of ours: such tasks stay together.
func (k *queuedJob) placeTasks() {
	var first *queueRow
	for r := range k.rows {
		r.place = r.id
		if r.task != waitingTasks && r.raw != r.id {
			r.place = max(r.raw, r.id)
			if first == nil || r.raw < first.raw {
				first = r
			}
		}
	}
	if first != nil && len(k.more) > 0 {
		first.place = first.id
	}
}

// drop takes out the rows of a job.
func (q *queue) drop(id federation.JobID) {
	k := q.jobs[id]
	if k == nil {
		return
	}
	delete(q.jobs, id)
	for r := range k.rows {
		r.dead = true
		q.dead++
	}
	q.byUser = nil
	if k.group != 0 {
		rest := slices.DeleteFunc(q.groups[k.group], func(x *queuedJob) bool { return x == k })
		if q.groups[k.group] = rest; len(rest) == 0 {
			delete(q.groups, k.group)
		}
	}
}

// sweep forgets jobs that ended before a time.
func (q *queue) sweep(before time.Time) {
	for id, k := range q.jobs {
		if k.end != 0 && k.end < before.UnixNano() {
			q.drop(id)
		}
	}
}

// rows are all of them in squeue's order. The slice is not changed later.
func (q *queue) rows() []*queueRow {
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
func (q *queue) rowsOf(user string) []*queueRow {
	all := q.rows()
	if q.byUser == nil {
		q.byUser = map[string][]*queueRow{}
		for _, r := range all {
			user := r.facts.Value().user
			q.byUser[user] = append(q.byUser[user], r)
		}
	}
	return q.byUser[user]
}

// squeueOrder is squeue's "P,t,-p"; what is equal in that stands as in slurmctld's list.
func squeueOrder(a, b *queueRow) int {
	if a.facts != b.facts {
		fa, fb := a.facts.Value(), b.facts.Value()
		if c := cmp.Or(strings.Compare(fa.part, fb.part), strings.Compare(fa.short, fb.short)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id), cmp.Compare(a.task, b.task),
		cmp.Compare(a.raw, b.raw))
}
