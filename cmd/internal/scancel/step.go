package scancel

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"fsub/cmd/internal/refusal"
	"fsub/cmd/internal/show"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// cancelStep kills a step or signals it, with scancel's words and exit codes. A signal to a step
// that does not exist succeeds.
func (c *command) cancelStep(r ref) int {
	if program, own := c.siteCommand(r); program != "" {
		return c.handOver(program, own)
	}
	jobs, err := c.read(show.Query{}, []ref{r})
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return 1
	}
	j := r.jobOf(jobs)
	switch {
	case len(jobs) == 0 || j == nil && r.tasks.Len() > 0 || j != nil && show.Ended(j.State):
		c.complainStep(r.text, wire.Strerror(wire.ErrJobID))
		return 1
	case j == nil: // an array all of whose tasks have numbers of their own
		return c.refused(int64(r.id), &show.Failure{Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID)})
	case wire.BaseState(j.State) == wire.StatePending:
		return 0
	case !c.matches(j):
		if c.verbose {
			fmt.Fprintf(c.stderr, "scancel: error: No active jobs match ALL job filters, including: %s\n", c.filters())
		}
		return 0
	case c.interactive && !c.asked(fmt.Sprintf("Cancel step_id=%s name=%s partition=%s [y/n]? ", r.text, j.Name, j.Partition)):
		return 0
	}
	if c.verbose {
		fmt.Fprintf(c.stderr, "scancel: %s step %s\n", c.doingTo(""), r.text)
	}
	req := v1.StepSignal{Job: federation.JobID(j.JobID), Step: r.step, Signal: c.signal}
	return c.sendStep(j.JobID, req)
}

// jobOf is the job whose step r names: the very one that it names, and not an array's task by the
// array's number.
func (r *ref) jobOf(jobs []wire.Job) *wire.Job {
	for i := range jobs {
		if j := &jobs[i]; r.names(j) && (r.tasks.Len() > 0 || j.JobID == int64(r.id)) {
			return j
		}
	}
	return nil
}

func (c *command) sendStep(job int64, req v1.StepSignal) int {
	err := show.Post(c.caller, "/fed/v1/steps/signal", req, &struct{}{})
	if f := (*show.Failure)(nil); errors.As(err, &f) {
		return c.refused(job, f)
	}
	return 0
}

// refused says why an order to a step of a job was not carried out.
func (c *command) refused(job int64, e *show.Failure) int {
	if e.Number == wire.ErrJobID && c.signal != "" {
		return 0
	}
	c.complainStep(strconv.FormatInt(job, 10), e.Text)
	if e.Number <= 0 || e.Number&0xff == 0 {
		return 1
	}
	return e.Number & 0xff
}

func (c *command) complainStep(step, why string) {
	fmt.Fprintf(c.stderr, "scancel: error: Kill job error on job step id %s: %s\n", step, why)
}

// asked repeats a question until it is answered. The end of the input means no: scancel itself
// would ask forever.
func (c *command) asked(question string) bool {
	if c.answers == nil {
		c.answers = bufio.NewReader(c.stdin)
	}
	for {
		fmt.Fprint(c.stdout, question)
		line, err := c.answers.ReadString('\n')
		switch {
		case strings.HasPrefix(strings.ToLower(line), "y"):
			return true
		case strings.HasPrefix(strings.ToLower(line), "n"), err != nil:
			return false
		}
	}
}

// siteCommand is the site's own scancel where r is a step of the job that this process runs in, at
// a Slurm cluster, and what r is called there. Nobody but it can reach the step: slurmrestd takes a
// step's number for its job's, and signals that.
func (c *command) siteCommand(r ref) (program, own string) {
	end := strings.IndexAny(r.given, "._+")
	id, rest := r.given[:end], r.given[end:]
	env := func(name string) string { return show.Env(c.env, name) }
	switch {
	case env("SLURM_JOB_ID") == "" || env("FSUB_STEPS") != "":
		return "", ""
	case id == env("SLURM_JOB_ID"), id == env("SLURM_ARRAY_JOB_ID"):
		own = r.given
	case id == env("FSUB_ARRAY_JOB_ID"):
		own = env("SLURM_ARRAY_JOB_ID") + rest
	case id == env("FSUB_JOB_ID"):
		own = env("SLURM_JOB_ID") + rest
	default:
		return "", ""
	}
	return refusal.After("scancel", c.env), own
}

// handOver lets the site's own scancel do it.
func (c *command) handOver(program, step string) int {
	args := append(append([]string{"scancel"}, c.passed...), step)
	p, err := os.StartProcess(program, args, &os.ProcAttr{Env: c.env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err == nil {
		var s *os.ProcessState
		if s, err = p.Wait(); err == nil {
			return max(s.ExitCode(), 0)
		}
	}
	fmt.Fprintf(c.stderr, "scancel: error: %s: %s\n", program, err)
	return 1
}
