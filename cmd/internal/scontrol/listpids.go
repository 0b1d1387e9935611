package scontrol

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
)

// process is one that belongs to a job, as its environment tells.
type process struct {
	pid         int
	job, step   string // step: a number, or "batch"
	local, rank string // of a task itself, "-" of what it has started
}

// listPIDs is "listpids [JOB[.STEP] [NODE]]": the caller's processes on this node. On a rented node
// there is nobody to ask but the processes themselves.
func (c *command) listPIDs(words []string) int {
	job, step, node := "", "", show.Env(c.env, "SLURMD_NODENAME")
	if len(words) > 0 {
		var stepped bool
		job, step, stepped = strings.Cut(words[0], ".")
		switch {
		case !digits(job):
			return c.fail("%q does not look like a jobid", words[0])
		case stepped && !digits(step):
			fmt.Fprintf(c.stderr, "%q does not look like a stepid\n", words[0])
			fmt.Fprintln(c.stdout, pidsHead)
			return 0 // as 24.11
		}
	}
	named := "(null)"
	if len(words) > 1 {
		named = words[1]
	}
	var all []process
	if node != "" && (len(words) < 2 || words[1] == node) {
		all = processes("/proc", node)
	}
	others := len(all) > 0
	found := slices.DeleteFunc(all, func(p process) bool {
		return job != "" && p.job != job || step != "" && p.step != step
	})
	switch {
	case len(found) > 0:
	case node == "":
		return c.fail("scontrol: error: listpids lists processes of the node where it runs: call it within a job")
	case job == "":
		return c.fail("No job steps exist on this node.")
	case step != "":
		return c.fail("StepId=%s does not exist on node %s.", words[0], named)
	case others:
		return c.fail("There are no steps for job %s on node %s.", job, named)
	default:
		return c.fail("JobId=%s does not exist on node %s.", job, named)
	}
	fmt.Fprintln(c.stdout, pidsHead)
	for _, p := range found {
		fmt.Fprintf(c.stdout, "%-8d %-8s %-8s %-7s %-8s \n", p.pid, p.job, p.step, p.local, p.rank)
	}
	return 0
}

const pidsHead = "PID      JOBID    STEPID   LOCALID GLOBALID"

// processes are those of jobs on one node whose environment the caller may read: the batch script's
// first, then steps' in their order, tasks before what they have started.
func processes(proc, node string) (all []process) {
	dirs, _ := os.ReadDir(proc)
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(proc, d.Name(), "environ"))
		if err != nil {
			continue // another user's, or gone
		}
		env := strings.Split(string(text), "\x00")
		p := process{pid, show.Env(env, "SLURM_JOB_ID"), show.Env(env, "SLURM_STEP_ID"), "-", "-"}
		if p.job == "" || show.Env(env, "SLURMD_NODENAME") != node {
			continue
		}
		task := show.Env(env, "SLURM_TASK_PID") == d.Name()
		if p.step == "" {
			p.step = "batch"
		}
		if task {
			p.local, p.rank = cmp.Or(show.Env(env, "SLURM_LOCALID"), "0"), cmp.Or(show.Env(env, "SLURM_PROCID"), "0")
		}
		all = append(all, p)
	}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	slices.SortFunc(all, func(a, b process) int {
		started := func(p process) int {
			if p.rank == "-" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(number(a.job), number(b.job)), cmp.Compare(number(a.step), number(b.step)), cmp.Compare(started(a), started(b)),
			cmp.Compare(number(a.rank), number(b.rank)), cmp.Compare(a.pid, b.pid))
	})
	return all
}
