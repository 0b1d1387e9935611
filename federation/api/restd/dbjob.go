package restd

import (
	"cmp"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// associationOf is the number that a site's accounting gave the right of a user to an account; 0 if it is not known.
func (v *View) associationOf(j *federation.Job) int64 {
	for _, site := range v.Sites {
		if site.Name != j.Site || site.Seen == nil {
			continue
		}
		name := j.User
		if at, ok := site.Users[j.User]; ok {
			name = at.Name
		}
		for _, a := range site.Seen.Associations[name] {
			if a.Account == j.Account || j.Account == "" && a.Default {
				return a.ID
			}
		}
	}
	return 0
}

// DBRecord is p as slurmdbd would have recorded it. Comment and file names are there from the beginning.
func (v *View) DBRecord(p *Part) wire.DBJob {
	j, sp := p.Job, p.Job.Spec
	z := v.sizeOf(j, p.nodes)
	job := v.Record(p)
	w := wire.DBJob{
		Account: v.accountOf(j), Cluster: job.Cluster, Constraints: sp.Constraint, Name: sp.Name, User: j.User, Group: job.GroupName,
		JobID: int64(p.id), Partition: job.Partition, QOS: job.QOS, QOSReq: sp.QOS, Priority: job.Priority, Hold: job.Hold,
		ExitCode: job.ExitCode, DerivedExitCode: job.DerivedExitCode, RestartCnt: int64(p.restarts), WorkDir: sp.WorkDir,
		Nodes: cmp.Or(p.nodes, "None assigned"),
		State: wire.DBState{Current: dbStates(p.State), Reason: job.StateReason},
	}
	w.Comment.Job, w.SubmitLine = sp.Comment, sp.SubmitLine
	w.Association = wire.AssocShort{Account: w.Account, Cluster: w.Cluster, User: w.User, ID: v.associationOf(j)}
	w.Het.JobOffset = wire.Number{}
	if job.HetJobID.Value() != 0 {
		w.Het.JobID, w.Het.JobOffset = job.HetJobID.Value(), job.HetJobOffset
	}
	if p.array != 0 {
		w.Array.JobID, w.Array.Task, w.Array.TaskID = int64(p.array), p.pending, job.ArrayTaskID
		w.Array.Limits.Max.Running.Tasks = int64(p.limit)
	}
	if by := p.CancelledBy(); by != nil {
		w.KillRequestUser, _ = v.users.UserName(*by)
		w.KillRequestUser = cmp.Or(w.KillRequestUser, strconv.Itoa(int(*by)))
	}
	w.Required.CPUs, w.Required.MemoryPerCPU, w.Required.MemoryPerNode = int64(z.CPUs), job.MemoryPerCPU, job.MemoryPerNode
	w.Reservation.Name = sp.Reservation
	w.TRES.Requested = z.list()
	if p.nodes != "" {
		w.TRES.Allocated, w.AllocationNodes = v.allocated(z, j.Site, firstNode(p.nodes)).list(), int64(z.Nodes)
	}
	w.Time = v.dbTime(p, &job)
	w.StdOutExpanded, w.StdErrExpanded, w.StdInExpanded = job.StdOutExpanded, job.StdErrExpanded, job.StdInExpanded
	w.StdOut, w.StdErr, w.StdIn = job.StdOut, job.StdErr, job.StdIn
	if stopped(p.State) { // slurmdbd has the signal with the batch step
		w.ExitCode = wire.ExitOf(0)
	}
	if p.State != federation.Pending { // slurmdbd keeps why a job waited, not how it ended
		w.State.Reason = "None"
	}
	if sp.Error == "" { // slurmdbd has no name where none was given
		w.StdErrExpanded = ""
	}
	if !p.start.IsZero() && p.nodes != "" && job.HetJobOffset.Value() == 0 { // the script runs in the first component
		w.Steps = wire.List[wire.DBStep]{batchStep(p, &w)}
	}
	return w
}

// CancelledBy is the uid of who has cancelled p, nil if nobody has.
func (p *Part) CancelledBy() *uint32 {
	switch {
	case p.State != federation.Cancelled:
	case p.cancelled != nil && !p.cancelled.Cancel:
		return nil
	case p.cancelled != nil:
		return &p.cancelled.CancelBy
	case p.task != nil && p.task.Cancel: // before its array, perhaps
		return &p.task.CancelBy
	case p.Job.Cancel:
		return &p.Job.CancelBy
	}
	return nil
}

// dbState is a state as the accounting knows it: there is nothing between PENDING, RUNNING and the end.
func dbState(s federation.State) federation.State {
	switch s {
	case federation.Configuring, federation.Completing:
		return federation.Running
	}
	return s
}

// dbStates is a state as slurmrestd lists it. That of a run which was requeued is a flag of one that waits.
func dbStates(s federation.State) wire.Strings {
	if s == federation.Requeued {
		return wire.Strings{wire.StatePending, wire.FlagRequeued}
	}
	return wire.Strings{string(dbState(s))}
}

func (v *View) dbTime(p *Part, job *wire.Job) wire.DBTime {
	t := wire.DBTime{Submission: job.SubmitTime.Value(), Eligible: job.EligibleTime.Value(), Limit: job.TimeLimit}
	until := v.Now
	if p.State.Ended() && !p.End.IsZero() {
		t.End, until = p.End.Unix(), p.End
	}
	if !p.start.IsZero() && p.State != federation.Pending {
		t.Start = p.start.Unix()
		t.Elapsed, t.Suspended = p.times(p.start, until)
		t.Planned = wire.Num(max(t.Start-t.Eligible, 0))
	}
	return t
}

// times are for how many seconds a job has run until then, and was suspended. slurmdbd counts whole seconds of the clock.
func (p *Part) times(start, until time.Time) (ran, suspended int64) {
	all := max(until.Unix()-start.Unix(), 0)
	suspended = min(int64(p.suspension.Suspended(start, until, p.State == federation.Suspended)/time.Second), all)
	return all - suspended, suspended
}

// stopped reports whether a job was ended from without: slurmdbd writes its record before it is known how its script ended.
func stopped(s federation.State) bool {
	return s == federation.Cancelled || s == federation.Timeout || s == federation.Preempted || s == federation.Requeued
}

// batchStep is the record of the batch script of a job that has started: it ran as long as the job, on its first node. What
// only the site measured (memory, CPU time) is not in it.
func batchStep(p *Part, w *wire.DBJob) wire.DBStep {
	var st wire.DBStep
	st.Step.ID, st.Step.Name = wire.Text(p.Name()+".batch"), "batch"
	st.State, st.ExitCode = w.State.Current, w.ExitCode
	if stopped(p.State) {
		st.State, st.ExitCode = wire.Strings{wire.StateCancelled}, wire.ExitOf(15)
	}
	st.Time.Elapsed, st.Time.Suspended = w.Time.Elapsed, w.Time.Suspended
	st.Time.Start = wire.Num(w.Time.Start)
	st.Time.End = wire.Num(w.Time.End)
	first := firstNode(p.nodes)
	st.Nodes.Count, st.Nodes.Range, st.Nodes.List = 1, hostlist.Compress([]string{first}), wire.Strings{first}
	st.Tasks.Count = 1
	st.CPU.RequestedFrequency.Min, st.CPU.RequestedFrequency.Max, st.CPU.Governor, st.Task.Distribution = wire.Num(0), wire.Num(0), "0", "Unknown"
	return st
}
