package queue

import (
	"cmp"
	"strings"
	"time"
	"unique"

	"fsub/federation"
	"fsub/federation/api/restd"
	v1 "fsub/federation/api/v1"
	"fsub/federation/quota"
	"fsub/slurm/wire"
)

// queuedJob is a job with its rows: one, or for an array one for each started task and one for the rest. An array whose tasks are all separate
// jobs has none.
type queuedJob struct {
	row  queueRow // the first
	rest *queuedRest
}

// queuedRest is what a job has that is not one of many that wait alike.
type queuedRest struct {
	group federation.JobID // the array or leader to which it belongs; 0: none
	end   int64            // in nanoseconds since 1970; 0: live
	begin int64            // its rows change then; 0: they do not
	empty bool             // there are no rows
	who   *quota.Submitted // on whose behalf the job counts as submitted; nil: nobody counts
	live  int64            // for how many: its tasks that have not ended
	list  *listing         // nil: lists of jobs do not have it
	more  []*queueRow
}

// rows is an iterator over the rows of k.
func (k *queuedJob) rows(yield func(*queueRow) bool) {
	if k.rest == nil {
		yield(&k.row)
		return
	}
	if k.rest.empty || !yield(&k.row) {
		return
	}
	for _, r := range k.rest.more {
		if !yield(r) {
			return
		}
	}
}

// queueRow is one line of squeue: what rows are selected and ordered by, and the row as it is sent. It is not changed once it is made,
// but for dead, which the queue's lock guards.
type queueRow struct {
	id       uint32 // the number that the shown ID begins with
	ended    bool
	dead     bool
	priority int64
	submit   int64 // in seconds since 1970, of a row without own
	kind     *rowKind
	own      *rowOwn // nil: that of a job that waits like many others, and differs in what is above
}

// rowOwn is what a row shares with no other.
type rowOwn struct {
	raw   uint32 // the number of the job, or of the task, itself
	place uint32 // where slurmctld would have it in its list
	task  int32  // index of the task, waitingTasks for those that have not started
	end   int64  // when it, or the array that it is of, ended, in nanoseconds since 1970; 0: neither has
	text  string // the fields that it does not share, as they are sent
}

// rowKind is what the rows of like jobs have in common.
type rowKind struct {
	facts  unique.Handle[rowFacts]
	shared unique.Handle[string] // fields as they are sent
	job    *federation.Job       // of jobs that wait alike: one of them, without what differs; nil: of others
	rows   int                   // of those: how many
	who    *quota.Submitted      // as in queuedRest
	class  int32                 // of those, in lists of jobs
}

// rowFacts are what many rows have in common.
type rowFacts struct {
	user, part, account, qos, cluster string
	uid                               wire.Int
	state                             string // as squeue shows it: a flag goes before the base state
	base, short                       string
}

func (r *queueRow) raw() uint32 {
	if r.own != nil {
		return r.own.raw
	}
	return r.id
}

func (r *queueRow) place() uint32 {
	if r.own != nil {
		return r.own.place
	}
	return r.id
}

func (r *queueRow) task() int32 {
	if r.own != nil {
		return r.own.task
	}
	return 0
}

// endedBefore reports whether the row is of something that has ended before a time.
func (r *queueRow) endedBefore(t time.Time) bool {
	return r.own != nil && r.own.end != 0 && r.own.end < t.UnixNano()
}

func (r *queueRow) waiting() v1.Waiting {
	return v1.Waiting{ID: int64(r.id), Priority: r.priority, Submit: r.submit}
}

// bytes appends the row as v1 writes it.
func (r *queueRow) bytes(b []byte) []byte {
	b = append(b, r.kind.shared.Value()...)
	if r.own != nil {
		return append(b, r.own.text...)
	}
	w := r.waiting()
	return w.Append(b)
}

func (r *queueRow) size() int {
	n := len(r.kind.shared.Value())
	if r.own != nil {
		return n + len(r.own.text)
	}
	w := r.waiting()
	return n + w.Size()
}

// alike reports whether a job may be one of many that wait alike, and returns what it then has in common with them: its record without what differs.
func alike(j *federation.Job) (federation.Job, bool) {
	if j.State != federation.Pending || j.Attempt > 0 || j.Part != nil || j.Whole != nil || j.Component != nil || j.Held != federation.NotHeld || j.Spec.Array != "" ||
		len(j.Spec.Het) > 0 || !j.Spec.Begin.IsZero() {
		return federation.Job{}, false
	}
	k := *j
	k.ID, k.Submit, k.Priority, k.Top, k.Rev = 0, time.Time{}, 0, 0, 0
	return k, true
}

// kindOf is what the row of a job that waits has in common with those of others like it. Not ok: its row is not of that form.
func kindOf(v *restd.View, like *federation.Job) (*rowKind, bool) {
	j := *like
	j.ID, j.Submit, j.Priority = 1, time.Unix(1, 0), 1 // any
	parts := restd.Parts(&j, nil)
	w := v.Record(&parts[0])
	if own, ok := v1.WaitingOf(&w); len(parts) > 1 || !ok || own != (v1.Waiting{ID: 1, Submit: 1, Priority: 1}) {
		return nil, false
	}
	shared, own := v1.AppendRow(nil, nil, &w)
	shared = v1.AppendForetold(append(shared, own...), &v1.Foretold{Shown: v1.ShownOf(like)})
	return &rowKind{facts: unique.Make(factsOf(&w)), shared: unique.Make(string(shared)), job: like}, true
}

func factsOf(w *wire.Job) rowFacts {
	f := rowFacts{
		user: w.UserName, uid: w.UserID, part: w.Partition, account: w.Account, qos: w.QOS, cluster: w.Cluster,
		state: wire.ShownState(w.State), base: wire.BaseState(w.State),
	}
	f.short = wire.CompactState(f.state)
	return f
}

// set fills in a row of a job from the record that it shows.
func (q *Queue) set(r *queueRow, w *wire.Job, j *federation.Job) {
	q.shared, q.own = v1.AppendRow(q.shared[:0], q.own[:0], w)
	q.shared = v1.AppendForetold(q.shared, &v1.Foretold{Shown: v1.ShownOf(j)})
	r.id, r.priority = uint32(masterID(w)), w.Priority.Value()
	r.kind = &rowKind{facts: unique.Make(factsOf(w)), shared: unique.Make(string(q.shared))}
	r.own = &rowOwn{raw: uint32(w.JobID), task: taskIndex(w), text: string(q.own)}
}

// placeTasks gives the rows of a job the places that they have in slurmctld's list: the first task of an array that starts takes over
// the array's, any other gets its own by its number. Numbers that a site gave are lower than any of ours: such tasks stay together.
func (k *queuedJob) placeTasks() {
	var first *queueRow
	for r := range k.rows {
		o := r.own
		o.place = r.id
		if o.task != waitingTasks && o.raw != r.id {
			o.place = max(o.raw, r.id)
			if first == nil || o.raw < first.own.raw {
				first = r
			}
		}
	}
	if first != nil && len(k.rest.more) > 0 {
		first.own.place = first.id
	}
}

// squeueOrder is squeue's "P,t,-p"; what is equal in that stands as in slurmctld's list.
func squeueOrder(a, b *queueRow) int {
	if a.kind.facts != b.kind.facts {
		fa, fb := a.kind.facts.Value(), b.kind.facts.Value()
		if c := cmp.Or(strings.Compare(fa.part, fb.part), strings.Compare(fa.short, fb.short)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.place(), b.place()), cmp.Compare(a.id, b.id), cmp.Compare(a.task(), b.task()),
		cmp.Compare(a.raw(), b.raw()))
}
