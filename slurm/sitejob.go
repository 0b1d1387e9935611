package slurm

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// state is the federation's view of a job_state list: one base state and flags beside it.
func state(l wire.Strings) federation.State {
	base := federation.State(wire.BaseState(l))
	switch {
	case base == federation.Pending && l.Has(wire.FlagRevoked):
		return federation.Cancelled
	case base == federation.Running && l.Has(wire.FlagConfiguring):
		return federation.Configuring
	case base == federation.Running && l.Has(wire.FlagStopped):
		return federation.Suspended
	case base.Ended() && l.Has(wire.FlagCompleting):
		return federation.Completing // its nodes are not free yet
	case base == "" && l.Has(wire.FlagCompleting): // 22.05 says one word, a flag before the state
		return federation.Completing
	case base == "" && l.Has(wire.FlagConfiguring):
		return federation.Configuring
	case base == "" && l.Has(wire.FlagStopped):
		return federation.Suspended
	case base == "":
		return federation.Pending // flags alone: between two states
	}
	return base
}

// siteJob makes one job of the records that slurmctld has for it: one, or for an array one for each task that has started
// and one for those that have not. pending names the latter where it is known better than the record says it: there it is cut
// off after 64 characters. It may be older than the records: a task that has one of its own waits no more.
func siteJob(n name, id number, records []wire.Job, pending []int) federation.SiteJob {
	head := records[0]
	for _, r := range records {
		if r.JobID == int64(id) {
			head = r
		}
	}
	j := plainJob(n, id, &head)
	if head.HetJobID.Value() != 0 {
		addComponents(&j, n, records)
	}
	if head.ArrayJobID.Value() == 0 {
		return j
	}
	j.Output = strings.ReplaceAll(j.Output, noTask, "%a")
	pending = withoutRecord(pending, records)
	var rest federation.State // of the tasks that have no record
	var split []int           // 22.05 gives tasks records of their own shortly before they start
	for i := range records {
		r := &records[i]
		if !r.ArrayTaskID.Set {
			if rest = state(r.State); !rest.Ended() {
				j.PendingTasks = tasksText(r.ArrayTaskString, pending)
			}
			continue
		}
		t := siteTask(r)
		if t.State == federation.Pending && t.Restarts == 0 { // the last one of an array, which has the array's own record
			split = append(split, t.Index)
			continue
		}
		j.Tasks = append(j.Tasks, t)
	}
	if len(split) > 0 {
		rest = federation.Pending
		j.PendingTasks = withMore(j.PendingTasks, split)
	}
	summarize(&j, rest)
	return j
}

// addComponents adds the components of a heterogeneous job after the first.
func addComponents(j *federation.SiteJob, n name, records []wire.Job) {
	for i := range records {
		if offset := records[i].HetJobOffset.Value(); offset > 0 {
			of := name{job: n.job + federation.JobID(offset), key: n.key}
			j.Components = append(j.Components, plainJob(of, number(records[i].JobID), &records[i]))
		}
	}
	sort.Slice(j.Components, func(a, b int) bool { return j.Components[a].ID < j.Components[b].ID })
}

// withMore adds tasks to a list of those that wait.
func withMore(list string, more []int) string {
	if waiting, err := federation.ArrayIndices(list); err == nil {
		more = append(waiting, more...)
	}
	return ranges(more)
}

// withoutRecord drops the tasks that have a record of their own.
func withoutRecord(pending []int, records []wire.Job) []int {
	has := map[int]bool{}
	for i := range records {
		if t := records[i].ArrayTaskID; t.Set {
			has[int(t.Number)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(pending), func(i int) bool { return has[i] })
}

// addTasks adds to an array what is known of tasks that left the controller's memory before their array did.
func addTasks(j *federation.SiteJob, past map[int]federation.SiteTask) {
	there := map[int]bool{}
	for _, t := range j.Tasks {
		there[t.Index] = true
	}
	for i, t := range past {
		if !there[i] && !waits(j.PendingTasks, i) {
			j.Tasks = append(j.Tasks, t)
		}
	}
	rest := federation.State("")
	if j.PendingTasks != "" {
		rest = federation.Pending
	}
	summarize(j, rest)
}

// waits reports whether task i is in the list of those that have not started.
func waits(list string, i int) bool {
	for _, r := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(r, "-")
		lo, err := strconv.Atoi(from)
		hi := lo
		if isRange {
			hi, _ = strconv.Atoi(to)
		}
		if err == nil && lo <= i && i <= hi {
			return true
		}
	}
	return false
}

// plainJob translates one record.
func plainJob(n name, id number, r *wire.Job) federation.SiteJob {
	j := federation.SiteJob{
		ID: n.job, SiteJobID: uint32(id), Key: n.key, State: state(r.State), User: r.UserName, Account: r.Account, Partition: r.Partition, QOS: r.QOS,
		Reason: waitsFor(r), Nodes: r.Nodes, NumNodes: int(r.NodeCount.Value()), CPUs: int(r.CPUs.Value()), TRES: r.TRESAlloc,
		Submit: unix(r.SubmitTime.Value()), Limit: minutes(r.TimeLimit),
		ExitStatus: waitStatus(r.ExitCode), Restarts: int(r.RestartCnt), Output: r.StdOut,
	}
	j.Completing = j.State == federation.Pending && r.State.Has(wire.FlagCompleting)
	j.GPUs, j.GPUType = gpus(r.TRESAlloc)
	j.Start, j.End = times(j.State, r.Nodes, r.StartTime.Value(), r.EndTime.Value())
	if at := unix(r.SuspendTime.Value()); !at.IsZero() && !j.Start.IsZero() {
		j.Suspension = federation.Suspension{At: at, Ran: time.Duration(r.PreSusTime.Value()) * time.Second}
	}
	return j
}

func siteTask(r *wire.Job) federation.SiteTask {
	t := federation.SiteTask{Index: int(r.ArrayTaskID.Number), SiteJobID: uint32(r.JobID), State: state(r.State), Reason: waitsFor(r),
		Nodes: r.Nodes, ExitStatus: waitStatus(r.ExitCode), Restarts: int(r.RestartCnt)}
	t.Start, t.End = times(t.State, r.Nodes, r.StartTime.Value(), r.EndTime.Value())
	return t
}

// times are when a job started and ended. Slurm estimates the start of a pending job, gives the end of the time limit
// for a running one, and gives a job that ended without having started its end for a start.
func times(s federation.State, nodes string, start, end int64) (time.Time, time.Time) {
	var from, to time.Time
	if s != federation.Pending && nodes != "" {
		from = unix(start)
	}
	if s.Ended() {
		to = unix(end)
	}
	return from, to
}

// summarize sets the state and times of an array from its tasks and from rest, the state of those without a record ("" if
// there are none).
func summarize(j *federation.SiteJob, rest federation.State) {
	sort.Slice(j.Tasks, func(a, b int) bool { return j.Tasks[a].Index < j.Tasks[b].Index })
	j.Start, j.End, j.ExitStatus, j.Nodes, j.State = time.Time{}, time.Time{}, 0, "", rest
	alive, started := rest != "" && !rest.Ended(), false
	for _, t := range j.Tasks {
		alive = alive || !t.State.Ended()
		started = started || t.State.Started() || !t.Start.IsZero()
		if !t.Start.IsZero() && (j.Start.IsZero() || t.Start.Before(j.Start)) {
			j.Start = t.Start
		}
		if t.End.After(j.End) {
			j.End = t.End
		}
		j.ExitStatus = max(j.ExitStatus, t.ExitStatus)
		if severity[t.State] > severity[j.State] {
			j.State = t.State
		}
	}
	switch {
	case alive && started:
		j.State, j.End = federation.Running, time.Time{}
	case alive:
		j.State, j.End = federation.Pending, time.Time{}
	}
}

// severity orders the ends of an array's tasks: the worst one stands for the array.
var severity = map[federation.State]int{
	federation.Completed: 1, federation.Cancelled: 2, federation.Preempted: 3, federation.Deadline: 4, federation.Timeout: 5,
	federation.BootFail: 6, federation.NodeFail: 7, federation.OutOfMemory: 8, federation.Failed: 9,
}

// tasksText writes the tasks that have not started: from the list where there is one, else as the record says.
func tasksText(record string, pending []int) string {
	if len(pending) > 0 {
		return ranges(pending)
	}
	text, _, _ := strings.Cut(record, "%")
	return text
}

func ranges(n []int) string {
	slices.Sort(n)
	return hostlist.Ranges(n)
}

// reason is Slurm's word without blanks.
func reason(s string) reasons.Reason {
	if s == "" {
		return reasons.None
	}
	return reasons.Reason(strings.ReplaceAll(s, " ", "_"))
}

// waitsFor is why a job waits, or why it has ended. One whose launch has failed on its node shows up as held by its user, and only in its
// description as what it is: "launch failed requeued held" (22.05 to 26.05).
func waitsFor(r *wire.Job) reasons.Reason {
	if said := r.StateDescription; state(r.State) == federation.Pending && (said == "launch failed requeued held" || said == "launch failure limit exceeded requeued held") {
		return reasons.LaunchHeld
	}
	return reason(r.StateReason)
}

// noTask is what slurmctld puts for %a before there is a task.
const noTask = "4294967294"

func unix(s int64) time.Time {
	if s <= 0 || s >= 0xfffffffd { // Slurm's "no value", "infinite"
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// minutes is a time limit; an unset one is 0.
func minutes(n wire.Number) time.Duration {
	if n.Infinite {
		return sbatch.Unlimited
	}
	return time.Duration(n.Value()) * time.Minute
}

// waitStatus packs an exit code as wait(2) does.
func waitStatus(e wire.ExitCode) int32 {
	return int32(e.ReturnCode.Value()&0xff)<<8 | int32(e.Signal.ID.Value()&0x7f)
}

// gpus reads the number and type of GPUs from a TRES list: "cpu=4,gres/gpu=4,gres/gpu:h100=4".
func gpus(tres string) (n int, kind string) {
	for _, item := range strings.Split(tres, ",") {
		name, value, _ := strings.Cut(item, "=")
		if name == "gres/gpu" {
			n, _ = strconv.Atoi(value)
		} else if k, ok := strings.CutPrefix(name, "gres/gpu:"); ok {
			kind = k
		}
	}
	return n, kind
}
