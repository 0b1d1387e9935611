// Package seff shows how much of what a job held it has used, as the seff of Slurm's contributions does: CPU time of wall-clock time, memory of what was asked for.
package seff

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Main is the command seff.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c)
}

type options struct{ clusters string }

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "clusters", Short: 'M', Value: "SITE", Help: "the job of this site",
		Text: func(o *options) *string { return &o.clusters }},
	{Name: "debug", Short: 'd'},
	{Name: "version", Short: 'v', Help: "show the version of seff", Say: "seff Version 2.1\n"},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
})

func run(args, env []string, stdout, stderr io.Writer, c show.Caller) int {
	var o options
	operands, ended, err := optionSet.Parse(&o, args, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 1
	case ended:
		return 0
	case len(operands) == 0:
		io.WriteString(stdout, optionSet.Help())
		return 1
	}
	job, err := find(c, show.OwnTask(env, operands[0]))
	if err != nil {
		fmt.Fprintf(stderr, "seff: error: %s\n", err)
		return 1
	}
	if job == nil || o.clusters != "" && o.clusters != job.Cluster {
		fmt.Fprintln(stderr, "Job not found.")
		return 2
	}
	io.WriteString(stdout, text(job))
	return 0
}

// find asks for one job; nil: there is none of that name. Of an array it is the last task, as sacct lists them.
func find(c show.Caller, ref string) (*v1.AccountingJob, error) {
	var q show.Query
	q.Add("job_id", ref)
	var resp v1.AccountingResponse
	if err := show.Get(c, "/fed/v1/accounting"+q.String(), &resp); err != nil {
		if strings.Contains(err.Error(), wire.Strerror(wire.ErrJobID)) {
			return nil, nil
		}
		return nil, err
	}
	if len(resp.Jobs) == 0 {
		return nil, nil
	}
	return &resp.Jobs[len(resp.Jobs)-1], nil
}

// text is what seff 24.11 prints of a job.
func text(j *v1.AccountingJob) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	state := wire.BaseState(j.State.Current)
	line("Job ID: %d", j.JobID)
	if j.Array.JobID != 0 {
		line("Array Job ID: %d_%d", j.Array.JobID, j.Array.TaskID.Value())
	}
	line("Cluster: %s", j.Cluster)
	line("User/Group: %s/%s", j.User, j.Group)
	if state == wire.StatePending || state == wire.StateRunning {
		line("State: %s", state)
	} else {
		line("State: %s (exit code %d)", state, j.ExitCode.ReturnCode.Value())
	}
	e, nodes := j.Efficiency(), max(wire.CountOf(j.TRES.Allocated, "node"), 1)
	if e.Cores == 1 {
		line("Cores: 1")
	} else {
		line("Nodes: %d", nodes)
		line("Cores per node: %d", e.Cores/nodes)
	}
	if state == wire.StatePending {
		line("Efficiency not available for jobs in the PENDING state.")
		return b.String()
	}
	line("CPU Utilized: %s", show.Clock(e.CPU))
	line("CPU Efficiency: %s of %s core-walltime", percent(e.CPU, e.CPUOf), show.Clock(e.CPUOf))
	line("Job Wall-clock time: %s", show.Clock(e.Wall))
	line("Memory Utilized: %s", size(float64(e.Mem)))
	per, parts := "node", nodes
	if j.Required.MemoryPerCPU.Set {
		per, parts = "core", e.Cores
	}
	line("Memory Efficiency: %s of %s (%s/%s)", percent(e.Mem, e.MemOf), size(float64(e.MemOf)), size(float64(e.MemOf)/float64(parts)), per)
	if e.Largest > e.Avg && e.Avg > 0 {
		line("The task which had the largest memory consumption differs by %s from the average task max memory consumption", percent(e.Largest, e.Avg))
	}
	if state == wire.StateRunning {
		line("WARNING: Efficiency statistics can only be obtained after the job has ended as seff tool is based on the accounting database data.")
	}
	return b.String()
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "0.00%"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 2, 64) + "%"
}

// size writes KiB: "1.50 GB".
func size(kib float64) string {
	units := []string{"KB", "MB", "GB", "TB", "PB"}
	unit := 0
	for kib >= 1024 && unit < len(units)-1 {
		kib /= 1024
		unit++
	}
	if kib == 0 {
		unit = 1
	}
	return strconv.FormatFloat(kib, 'f', 2, 64) + " " + units[unit]
}

var about = option.About{
	Name:  "seff",
	Does:  "show how much of what a job held it has used",
	Usage: []string{"seff [Options] <Jobid>"},
	Text:  "Shows the CPU time and memory that a job has used, as parts of what it held.",
}

// About describes seff.
func About() option.About { return optionSet.About() }
