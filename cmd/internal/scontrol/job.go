package scontrol

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// showJob is "show job [ID]". An ID is that of a job, of one task (6_2) or of one component (9+1);
// of an array all records are shown.
func (c *command) showJob(id string, _ bool) int {
	jobs, exit := c.loadJobs(show.OwnTask(c.env, id))
	if exit != 0 {
		return exit
	}
	all := make([]*wire.Job, len(jobs))
	for i := range jobs {
		all[i] = &jobs[i]
	}
	show.Dependencies(c.caller, all, c.times.Now())
	shown := 0
	for i := range jobs {
		if c.clusters.has(jobs[i].Cluster) {
			shown++
			c.printJob(&jobs[i])
		}
	}
	if shown == 0 {
		fmt.Fprintln(c.stdout, "No jobs in the system")
	}
	return 0
}

// loadJobs reads one job, or all for the empty ID.
func (c *command) loadJobs(id string) ([]wire.Job, int) {
	var resp wire.JobsResponse
	if id == "" {
		err := c.load("slurm_load_jobs", wire.Slurm(restVersion, wire.PathJobs)+"?sparse=1", &resp)
		return resp.Jobs, exitOf(err)
	}
	base, component, hasComponent := strings.Cut(id, "+")
	number, task, hasTask := strings.Cut(base, "_")
	if !digits(number) || hasTask && !digits(task) || hasComponent && !digits(component) {
		return nil, c.fail("scontrol_print_job error: Invalid job id specified")
	}
	err := show.Get(c.caller, wire.Slurm(restVersion, wire.PathJob)+base+"?sparse=1", &resp)
	if f, ok := err.(*show.Failure); ok && hasTask && f.Number == wire.ErrJobID {
		err = show.Get(c.caller, wire.Slurm(restVersion, wire.PathJob)+number+"?sparse=1", &resp)
	}
	if err != nil {
		return nil, c.fail("slurm_load_jobs error: %s", err)
	}
	if hasTask {
		if resp.Jobs = taskOf(resp.Jobs, task); len(resp.Jobs) == 0 {
			fmt.Fprintf(c.stdout, "Job %s not found\n", id)
			return nil, 1
		}
	}
	if !hasComponent {
		return resp.Jobs, 0
	}
	for _, j := range resp.Jobs {
		if strconv.FormatInt(j.HetJobOffset.Value(), 10) == component {
			return []wire.Job{j}, 0
		}
	}
	return nil, c.fail("slurm_load_jobs error: Invalid job id specified")
}

// taskOf picks the record of one task of an array. A waiting task has none: it is shown as the
// record of all that wait.
func taskOf(jobs []wire.Job, task string) []wire.Job {
	index, _ := strconv.Atoi(task)
	var out []wire.Job
	for _, j := range jobs {
		switch {
		case j.ArrayTaskID.Set && j.ArrayTaskID.Number == int64(index):
			return []wire.Job{j}
		case !j.ArrayTaskID.Set && slices.Contains(show.Ranges(j.ArrayTaskString), index):
			j.ArrayTaskID = wire.Num(int64(index))
			out = append(out, j)
		}
	}
	return out
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func exitOf(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

// printJob writes one record, in 24.11's order of keys.
func (p *printer) printJob(j *wire.Job) {
	r := p.record()
	p.jobHead(r, j)
	p.jobTimes(r, j)
	p.jobPlace(r, j)
	p.jobSize(r, j)
	if p.details {
		jobNodes(r, j)
	}
	p.jobNeeds(r, j)
	jobFiles(r, j)
	jobTRES(r, j)
	p.end(r)
}

func (p *printer) jobHead(r *record, j *wire.Job) {
	first := fmt.Sprintf("JobId=%d ", j.JobID)
	if array := j.ArrayJobID.Value(); array != 0 {
		first += fmt.Sprintf("ArrayJobId=%d ", array)
		if task := taskText(j); task != "" {
			first += "ArrayTaskId=" + task + " "
		}
		if n := j.ArrayMaxTasks.Value(); n != 0 {
			first += fmt.Sprintf("ArrayTaskThrottle=%d ", n)
		}
	}
	het := j.HetJobID.Value() != 0
	if het {
		first += fmt.Sprintf("HetJobId=%d HetJobOffset=%d ", j.HetJobID.Number, j.HetJobOffset.Value())
	}
	r.line("%sJobName=%s", first, j.Name)
	if het {
		r.line("HetJobIdSet=%s", j.HetJobIDSet)
	}
	r.line("UserId=%s(%d) GroupId=%s(%d) MCS_label=%s", j.UserName, j.UserID, j.GroupName, j.GroupID, cmp.Or(j.MCSLabel, "N/A"))
	r.line("Priority=%d Nice=%d Account=%s QOS=%s", j.Priority.Value(), j.Nice, show.OrNull(j.Account), show.OrNull(j.QOS))
	r.line("JobState=%s Reason=%s Dependency=%s", show.State(j.State), strings.ReplaceAll(cmp.Or(j.StateReason, "None"), " ", "_"), show.OrNull(j.Dependency))
	r.line("Requeue=%s Restarts=%d BatchFlag=%s Reboot=%s ExitCode=%s", flag(j.Requeue), j.RestartCnt, flag(j.BatchFlag), flag(j.Reboot), show.ExitCode(j.ExitCode))
	if p.details {
		r.line("DerivedExitCode=%s", show.ExitCode(j.DerivedExitCode))
	}
}

func taskText(j *wire.Job) string {
	if j.ArrayTaskID.Set {
		return strconv.FormatInt(j.ArrayTaskID.Number, 10)
	}
	return j.ArrayTaskString
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func (p *printer) jobTimes(r *record, j *wire.Job) {
	r.line("RunTime=%s TimeLimit=%s TimeMin=%s", show.Clock(p.runTime(j)), limitText(j.TimeLimit, "Partition_Limit"), limitText(orUnset(j.TimeMinimum), "N/A"))
	r.line("SubmitTime=%s EligibleTime=%s", p.at(j.SubmitTime, "Unknown"), p.at(j.EligibleTime, "Unknown"))
	r.line("AccrueTime=%s", p.at(j.AccrueTime, "Unknown"))
	begun := j.StartTime
	if begun.Value() == 0 && show.Ended(j.State) { // it never ran
		begun = j.EndTime
	}
	r.line("StartTime=%s EndTime=%s Deadline=%s", p.at(begun, "Unknown"), p.at(j.EndTime, "Unknown"), p.at(j.Deadline, "N/A"))
	// The federation looks at a job when it comes and when it is placed.
	looked, scheduler := j.LastSchedEvaluation, "Main"
	if started(j) {
		scheduler = "Backfill"
	}
	if looked.Value() == 0 {
		looked = j.SubmitTime
		if started(j) {
			looked = j.StartTime
		}
	}
	r.line("SuspendTime=%s SecsPreSuspend=%d LastSchedEval=%s Scheduler=%s", p.at(j.SuspendTime, "None"), j.PreSusTime.Value(),
		p.at(looked, "Unknown"), scheduler)
}

// started reports whether the job runs or has run.
func started(j *wire.Job) bool {
	return wire.BaseState(j.State) != wire.StatePending && j.StartTime.Value() > 0 && j.Nodes != ""
}

func (p *printer) runTime(j *wire.Job) int64 {
	if !started(j) {
		return 0
	}
	return j.RunTime(p.times.Now().Unix())
}

// orUnset is n, unset if it is 0.
func orUnset(n wire.Number) wire.Number {
	if n.Value() == 0 && !n.Infinite {
		return wire.Number{}
	}
	return n
}

// limitText writes minutes; unset is the word for a limit that was not given.
func limitText(n wire.Number, unset string) string {
	switch {
	case n.Infinite:
		return "UNLIMITED"
	case !n.Set:
		return unset
	}
	return show.Clock(n.Number * 60)
}
