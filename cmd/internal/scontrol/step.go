package scontrol

import (
	"fmt"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// showSteps is "show step [ID[.STEP]]". Of jobs at Slurm sites the federation knows the batch script alone.
func (c *command) showSteps(id string, given bool) int {
	base, step, hasStep := strings.Cut(id, ".")
	if n := base + " "; given && id != "" && (n[0] < '1' || n[0] > '9') {
		return c.fail("scontrol: error: scontrol_print_step: slurm_get_job_steps(%s) failed: %s", id, "JobID can not be zero")
	}
	var resp wire.JobsResponse
	path, query := wire.Slurm(restVersion, wire.PathJobs)+"?sparse=1", ""
	if given && id != "" {
		path = wire.Slurm(restVersion, wire.PathJob) + show.OwnTask(c.env, base) + "?sparse=1"
		query = "?job_id=" + show.OwnTask(c.env, base)
	}
	if err := show.Get(c.caller, path, &resp); err != nil {
		return c.fail("scontrol: error: scontrol_print_step: slurm_get_job_steps(%s) failed: %s", id, err)
	}
	var live []v1.Step
	if show.Get(c.caller, "/fed/v1/steps"+query, &live) != nil {
		live = nil // an older daemon, which does not report steps
	}
	steps := map[int64][]*v1.Step{}
	for i := range live {
		steps[live[i].Job] = append(steps[live[i].Job], &live[i])
	}
	shown := 0
	for i := range resp.Jobs {
		j := &resp.Jobs[i]
		if show.State(j.State) != wire.StateRunning || !c.clusters.has(j.Cluster) || j.HetJobOffset.Value() > 0 {
			continue
		}
		for _, s := range append([]*v1.Step{batchStep(j)}, steps[j.JobID]...) {
			if !hasStep || step == s.ID {
				shown++
				c.printStep(j, s)
			}
		}
	}
	switch {
	case shown > 0:
		return 0
	case hasStep:
		fmt.Fprintf(c.stdout, "Job step %s not found\n", id)
		return 1
	}
	fmt.Fprintln(c.stdout, "No job steps in the system")
	return 0
}

// batchStep is a job's batch script as a step. Slurm counts no CPUs for it.
func batchStep(j *wire.Job) *v1.Step {
	return &v1.Step{ID: "batch", Name: "batch", Nodes: j.BatchHost, NumNodes: 1, Tasks: 1, Start: j.StartTime.Value()}
}

func (p *printer) printStep(j *wire.Job, s *v1.Step) {
	sep, end := "\n   ", "\n\n"
	if p.oneLine {
		sep, end = " ", "\n"
	}
	name, layout := strconv.FormatInt(j.JobID, 10), ""
	if task := taskText(j); task != "" {
		name = fmt.Sprintf("%d_%s", j.ArrayJobID.Number, task)
	}
	if s.Layout != "" {
		layout = " Dist=" + s.Layout
	}
	limit := "UNLIMITED"
	if s.Limit > 0 {
		limit = show.Clock(s.Limit)
	}
	fmt.Fprintf(p.stdout, "StepId=%s.%s UserId=%d StartTime=%s TimeLimit=%s"+sep, name, s.ID, j.UserID, p.at(wire.Num(s.Start), "Unknown"), limit)
	fmt.Fprintf(p.stdout, "State=RUNNING Partition=%s NodeList=%s"+sep, j.Partition, s.Nodes)
	fmt.Fprintf(p.stdout, "Nodes=%d CPUs=%d Tasks=%d Name=%s Network=(null)"+sep+"TRES=%s"+sep, s.NumNodes, s.CPUs, s.Tasks, s.Name, show.OrNull(s.TRES))
	fmt.Fprintf(p.stdout, "ResvPorts=(null)"+sep+"CPUFreqReq=Default%s"+sep+"SrunHost:Pid=%s:%d"+end, layout, show.OrNull(s.SrunHost), s.SrunPID)
}
