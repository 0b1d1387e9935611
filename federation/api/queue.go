package api

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// queue is what squeue lists, kept in memory in squeue's order and already written as it is sent: a poll costs the reading of what
// has changed since the one before, by Job.Rev, and no look at the jobs that have not. It holds what slurmctld would hold: live
// jobs, and those that ended within MinJobAge.
type queue struct {
	mu      sync.Mutex
	rev     int64
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
}

// queuedJob is a job with its rows: one, or for an array one for each started task and one for the rest.
type queuedJob struct {
	job   federation.JobID
	group federation.JobID // the array or leader to which it belongs; 0: none
	end   time.Time        // zero: live
	begin time.Time        // its rows change then
	rows  []*queueRow
}

// queueRow is one line of squeue: what rows are selected and ordered by, and the row as it is sent. It is not changed once it is made,
// but for dead, which the queue's lock guards.
type queueRow struct {
	id       int64 // the number that the shown ID begins with
	place    int64 // where slurmctld would have it in its list
	task     int64 // index of the task, beyond all for those that have not started
	raw      int64
	user     string
	uid      wire.Int
	name     string
	part     string
	account  string
	qos      string
	cluster  string
	state    string // as squeue shows it: a flag goes before the base state
	base     string
	short    string
	priority int64
	ended    bool
	end      time.Time // when it, or the array that it is of, ended
	row      []byte    // with its length before it
	dead     bool
}

// refresh takes up what was written since the last call. The store is read with the lock held: others who call meanwhile would
// read the same.
func (q *queue) refresh(ctx context.Context, s *Server) error {
	now := s.cfg.Now()
	first := q.jobs == nil
	v := s.view()
	if !first && q.otherWorld(v) {
		first, q.jobs = true, nil // also if this fails half-way
	}
	query := federation.JobQuery{SinceRev: q.rev}
	if first {
		query = federation.JobQuery{EndedAfter: now.Add(-s.cfg.MinJobAge)}
	}
	jobs, err := s.cfg.Store.Jobs(ctx, query)
	if err != nil {
		return ofStore(err, errNoContact)
	}
	if !first {
		late, err := q.overtaken(ctx, s, now)
		if err != nil {
			return err
		}
		jobs = append(jobs, late...)
	}
	var arrays []federation.JobID
	for i := range jobs {
		if jobs[i].Spec.Array != "" || jobs[i].Whole != nil {
			arrays = append(arrays, jobs[i].ID)
		}
	}
	var tasks map[federation.JobID][]federation.Task
	if len(arrays) > 0 {
		if tasks, err = s.cfg.Store.TasksOf(ctx, arrays); err != nil {
			q.changes = now // what was overtaken is looked for again
			return ofStore(err, errNoContact)
		}
	}
	if first {
		q.clear(v)
	}
	for i := range jobs {
		q.take(v, &jobs[i], tasks[jobs[i].ID])
	}
	if now.Sub(q.swept) > s.cfg.MinJobAge/10 {
		q.sweep(now.Add(-s.cfg.MinJobAge))
		q.swept = now
	}
	return nil
}

// clear forgets everything.
func (q *queue) clear(v *view) {
	q.jobs, q.groups = map[federation.JobID]*queuedJob{}, map[federation.JobID][]*queuedJob{}
	q.rev, q.sorted, q.fresh, q.dead, q.byUser, q.changes = 0, nil, nil, 0, nil, time.Time{}
	q.otherWorld(v)
}

// otherWorld reports whether the sites have changed in what rows depend on: partitions' limits and defaults, and the types of GRES.
func (q *queue) otherWorld(v *view) bool {
	seen := make([]*federation.Observation, len(v.sites))
	for i, site := range v.sites {
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

func worldOf(v *view) string {
	b := []byte(v.deflt)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	text := func(s string) { b = append(append(b, s...), 0) }
	for _, site := range v.sites {
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

// overtaken reads the jobs whose begin time has come without a write to them.
func (q *queue) overtaken(ctx context.Context, s *Server, now time.Time) ([]federation.Job, error) {
	if q.changes.IsZero() || now.Before(q.changes) {
		return nil, nil
	}
	var ids []federation.JobID
	q.changes = time.Time{}
	for id, j := range q.jobs {
		switch {
		case j.begin.IsZero():
		case !now.Before(j.begin):
			ids = append(ids, id)
		default:
			q.awaits(j.begin)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	jobs, err := s.cfg.Store.Jobs(ctx, federation.JobQuery{IDs: ids})
	if err != nil {
		q.changes = now
	}
	return jobs, ofStore(err, errNoContact)
}

func (q *queue) awaits(at time.Time) {
	if q.changes.IsZero() || at.Before(q.changes) {
		q.changes = at
	}
}

// take replaces the rows of a job.
func (q *queue) take(v *view, j *federation.Job, tasks []federation.Task) {
	q.rev = max(q.rev, j.Rev)
	q.drop(j.ID)
	k := &queuedJob{job: j.ID}
	if j.State.Ended() {
		k.end = j.End
	}
	var buf []byte
	for _, p := range parts(j, tasks) {
		if p.state == federation.Pending && j.Spec.Begin.After(v.now) {
			k.begin = j.Spec.Begin
			q.awaits(k.begin)
		}
		w := v.record(&p)
		row := newQueueRow(&w)
		if row.ended = p.state.Ended(); row.ended {
			row.end = p.end
		}
		if !k.end.IsZero() && (row.end.IsZero() || k.end.Before(row.end)) {
			row.end = k.end // it goes with its array at the latest
		}
		buf = v1.AppendRow(buf[:0], &w)
		row.row = append(binary.AppendUvarint(make([]byte, 0, len(buf)+2), uint64(len(buf))), buf...)
		k.rows = append(k.rows, row)
	}
	placeTasks(k.rows)
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
	q.fresh = append(q.fresh, k.rows...)
	q.byUser = nil
}

func newQueueRow(w *wire.Job) *queueRow {
	r := &queueRow{
		id: masterID(w), task: taskIndex(w), raw: w.JobID, user: w.UserName, uid: w.UserID, name: w.Name, part: w.Partition, account: w.Account,
		qos: w.QOS, cluster: w.Cluster, state: wire.ShownState(w.State), base: wire.BaseState(w.State), priority: w.Priority.Value(),
	}
	r.short = wire.CompactState(r.state)
	return r
}

// placeTasks gives the rows of a job the places that they have in slurmctld's list: the first task of an array that starts takes over
// the array's, any other gets its own by its number. Numbers that a site gave are lower than any of ours: such tasks stay together.
func placeTasks(rows []*queueRow) {
	var first *queueRow
	for _, r := range rows {
		r.place = r.id
		if r.task != waitingTasks && r.raw != r.id {
			r.place = max(r.raw, r.id)
			if first == nil || r.raw < first.raw {
				first = r
			}
		}
	}
	if first != nil && len(rows) > 1 {
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
	for _, r := range k.rows {
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
		if !k.end.IsZero() && k.end.Before(before) {
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
			q.byUser[r.user] = append(q.byUser[r.user], r)
		}
	}
	return q.byUser[user]
}

// squeueOrder is squeue's "P,t,-p"; what is equal in that stands as in slurmctld's list.
func squeueOrder(a, b *queueRow) int {
	return cmp.Or(strings.Compare(a.part, b.part), strings.Compare(a.short, b.short), cmp.Compare(b.priority, a.priority),
		cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id), cmp.Compare(a.task, b.task), cmp.Compare(a.raw, b.raw))
}
