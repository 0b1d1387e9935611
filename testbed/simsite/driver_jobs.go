package simsite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// driverMark stands for all changes up to one of the controller's.
type driverMark uint64

// Jobs implements [federation.Driver].
func (d *Driver) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	since, _ := m.(driverMark)
	r := federation.JobsReport{At: d.s.clock.Now()}
	err := d.call(ctx, OpState, func() error {
		if d.s.down {
			return errController
		}
		r.Known = make(map[federation.JobID]bool, len(d.s.jobs))
		for _, j := range d.s.order {
			if j == nil || !d.ours(j.groupID()) {
				continue
			}
			id := federation.JobID(j.groupID())
			if j.array == 0 {
				r.Known[id] = true
				if j.changed > uint64(since) {
					r.Changed = append(r.Changed, d.s.siteJob(j))
				}
			} else if !r.Known[id] {
				r.Known[id] = true
				if a := d.s.arrays[j.array]; a.changed > uint64(since) {
					r.Changed = append(r.Changed, d.s.siteArray(a))
				}
			}
		}
		r.Mark = driverMark(d.s.changes)
		return nil
	})
	if s := new(spoiled); errors.As(err, &s) && s.fault == Empty {
		// What the API's client cannot tell from a controller without jobs.
		return federation.JobsReport{At: r.At, Known: map[federation.JobID]bool{}, Mark: driverMark(0)}, nil
	}
	if err != nil {
		return federation.JobsReport{At: r.At}, err
	}
	return r, nil
}

func (d *Driver) ours(id uint32) bool {
	return federation.JobID(id) >= d.cfg.FirstID && federation.JobID(id) <= d.cfg.LastID
}

// Lookup implements [federation.Driver].
func (d *Driver) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	id := ref.ID
	var out federation.SiteJob
	held := d.call(ctx, OpJob, func() error {
		j, a := d.s.jobs[uint32(id)], d.s.arrays[uint32(id)]
		switch {
		case d.s.down:
			return errController
		case a != nil:
			out = d.s.siteArray(a)
		case j != nil:
			out = d.s.siteJob(j)
		default:
			return errJobID
		}
		return nil
	})
	if held == nil {
		return out, nil
	}
	recorded := d.call(ctx, OpDBJobs, func() error {
		if !d.s.dbd.up {
			return errDBConnection
		}
		var ok bool
		if out, ok = d.s.recordedJob(uint32(id)); !ok {
			return errJobID
		}
		return nil
	})
	unknown := errors.Is(held, federation.ErrNotFound)
	switch {
	case recorded == nil && (unknown || settled(out.State) && len(out.Tasks) == 0):
		return out, nil
	case recorded == nil || errors.Is(recorded, federation.ErrNotFound):
		return federation.SiteJob{}, held
	}
	return federation.SiteJob{}, recorded
}

// settled reports whether a job in state st is never requeued by its site.
func settled(st federation.State) bool {
	return st == federation.Completed || st == federation.Cancelled
}

// siteJob is a plain job as the federation sees it. Times are to the second, as Slurm gives them.
func (s *Site) siteJob(j *job) federation.SiteJob {
	o := federation.SiteJob{ID: federation.JobID(j.groupID()), SiteJobID: j.groupID(), Key: j.key, State: j.seen(), User: j.user.Name, Account: j.account, Partition: j.part.Name,
		QOS: j.qos, Reason: s.reasonOf(j), Nodes: j.nodes, NumNodes: max(len(j.shares), j.need.minNodes), CPUs: j.need.tasks * j.need.cpusTask,
		TRES: j.tres, Submit: second(j.submit), Eligible: second(j.eligible), Limit: limitOf(j.limit), ExitStatus: j.exit, Restarts: j.restarts,
		Priority: j.prio, Output: j.output()}
	o.GPUs, o.GPUType = gpusOf(j.tres)
	if len(j.shares) > 0 {
		o.CPUs = 0
		for i := range j.shares {
			o.CPUs += j.shares[i].cpus
		}
	}
	if j.nodes != "" {
		o.Start = second(j.start)
	}
	if o.State.Ended() {
		o.End = second(j.end)
	}
	return o
}

func (s *Site) siteTask(j *job) federation.SiteTask {
	t := federation.SiteTask{Index: j.task, SiteJobID: j.id, State: j.seen(), Reason: s.reasonOf(j), Nodes: j.nodes, ExitStatus: j.exit,
		Restarts: j.restarts}
	if j.nodes != "" {
		t.Start = second(j.start)
	}
	if t.State.Ended() {
		t.End = second(j.end)
	}
	return t
}

// siteArray is an array as the federation sees it, tasks that have left the controller's memory included.
func (s *Site) siteArray(a *array) federation.SiteJob {
	head := s.jobs[a.id]
	if head == nil {
		head = a.tasks[0]
	}
	o := s.siteJob(head)
	var rest federation.State
	if head.isArray() {
		rest = head.state
		if !rest.Ended() {
			o.PendingTasks = hostlist.Ranges(head.waiting)
		}
	}
	o.Tasks = slices.Clone(a.gone)
	for _, j := range a.tasks {
		if j.task >= 0 {
			o.Tasks = append(o.Tasks, s.siteTask(j))
		}
	}
	summarize(&o, rest)
	return o
}

// severity orders the ends of an array's tasks: the worst one stands for the array.
var severity = map[federation.State]int{federation.Completed: 1, federation.Cancelled: 2, federation.Timeout: 5, federation.NodeFail: 7,
	federation.Failed: 9}

// summarize sets an array's state and times from its tasks and from rest, the state of those without a record.
func summarize(o *federation.SiteJob, rest federation.State) {
	slices.SortFunc(o.Tasks, func(a, b federation.SiteTask) int { return cmp.Compare(a.Index, b.Index) })
	o.Start, o.End, o.ExitStatus, o.Nodes, o.State = time.Time{}, time.Time{}, 0, "", rest
	alive, started := rest != "" && !rest.Ended(), false
	for _, t := range o.Tasks {
		alive = alive || !t.State.Ended()
		started = started || !t.Start.IsZero()
		if !t.Start.IsZero() && (o.Start.IsZero() || t.Start.Before(o.Start)) {
			o.Start = t.Start
		}
		if t.End.After(o.End) {
			o.End = t.End
		}
		o.ExitStatus = max(o.ExitStatus, t.ExitStatus)
		if severity[t.State] > severity[o.State] {
			o.State = t.State
		}
	}
	switch {
	case alive && started:
		o.State, o.End = federation.Running, time.Time{}
	case alive:
		o.State, o.End = federation.Pending, time.Time{}
	}
}

// recordedJob is what accounting has of an ID: the newest submission, with all tasks of an array. A requeue makes a newer
// row of the same submission, of one task only.
func (s *Site) recordedJob(id uint32) (federation.SiteJob, bool) {
	rows := s.dbd.byID[id]
	if len(rows) == 0 {
		return federation.SiteJob{}, false
	}
	newest, base := rows[0], time.Time{}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r.ghost })
	for _, r := range rows {
		if !r.Submit.Before(newest.Submit) {
			newest = r
		}
		if r.Restarts == 0 && r.Submit.After(base) {
			base = r.Submit
		}
	}
	o := siteRecord(&newest.Record)
	if newest.Array == 0 {
		return o, true
	}
	o.ID, o.SiteJobID, o.Submit = federation.JobID(id), id, base
	tasks := map[int]*row{}
	for _, r := range rows {
		if old := tasks[r.Task]; !r.Submit.Before(base) && (old == nil || !r.Submit.Before(old.Submit)) {
			tasks[r.Task] = r
		}
	}
	var rest federation.State
	for i, r := range tasks {
		t := siteRecord(&r.Record)
		if i < 0 {
			rest, o.PendingTasks = r.State, r.Tasks
			continue
		}
		o.Tasks = append(o.Tasks, federation.SiteTask{Index: i, SiteJobID: r.JobID, State: t.State, Reason: t.Reason, Nodes: t.Nodes,
			Start: t.Start, End: t.End, ExitStatus: t.ExitStatus, Restarts: t.Restarts})
	}
	if rest.Ended() {
		o.PendingTasks = ""
	}
	summarize(&o, rest)
	return o, true
}

func siteRecord(r *Record) federation.SiteJob {
	o := federation.SiteJob{ID: federation.JobID(r.JobID), SiteJobID: r.JobID, FromAccounting: true, Key: strings.TrimSpace(r.Admin), State: r.State, User: r.User,
		Account: r.Account, Partition: r.Part, QOS: r.QOS, Reason: r.Reason, Nodes: r.Nodes, TRES: r.TRES, Submit: r.Submit,
		Eligible: r.Eligible.Truncate(time.Second), Limit: limitOf(int64(r.Limit)), ExitStatus: r.Exit, Restarts: r.Restarts}
	o.GPUs, o.GPUType = gpusOf(r.TRES)
	if r.Nodes != "" {
		o.Start = r.Start.Truncate(time.Second)
	}
	if r.State.Ended() {
		o.End = r.End.Truncate(time.Second)
	}
	def(&o.Reason, federation.ReasonNone)
	return o
}

func second(ns int64) time.Time { return stamp(ns - ns%int64(time.Second)) }

func limitOf(ns int64) time.Duration {
	if ns == 0 {
		return sbatch.Unlimited
	}
	return time.Duration(ns)
}

// gpusOf reads number and type of the GPUs in a TRES list.
func gpusOf(tres string) (n int, kind string) {
	i := strings.Index(tres, "gres/gpu=")
	if i < 0 {
		return 0, ""
	}
	num, rest, _ := strings.Cut(tres[i+len("gres/gpu="):], ",")
	n, _ = strconv.Atoi(num)
	if rest, ok := strings.CutPrefix(rest, "gres/gpu:"); ok {
		kind, _, _ = strings.Cut(rest, "=")
	}
	return n, kind
}
