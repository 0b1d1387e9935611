// Package scancel cancels and signals jobs of the federation as Slurm's scancel does: its options, sentences and exit
// codes. Who may do what to which job is the daemon's to decide.
package scancel

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fsub/cmd/fsub/internal/conn"
	"fsub/cmd/fsub/internal/show"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// Main is the command scancel.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c)
}

func run(args, env []string, stdout, stderr io.Writer, c show.Caller) int {
	o, exit, done := parse(args, env, stdout, stderr)
	if done {
		return exit
	}
	cmd := &command{options: o, stderr: stderr, caller: c}
	return cmd.run()
}

// command is one call of scancel.
type command struct {
	options
	stderr io.Writer
	caller show.Caller
}

func (c *command) run() int {
	refs := c.refs
	if c.filtered() {
		var err error
		var exit int
		if refs, exit, err = c.matching(); err != nil {
			fmt.Fprintln(c.stderr, err)
			return 1
		} else if exit != 0 && len(refs) == 0 {
			return exit
		}
	}
	if len(refs) == 0 {
		return 0
	}
	return c.act(refs)
}

// act sends everything in one request, as hundreds of IDs may come at once, and reports what was refused.
func (c *command) act(refs []ref) int {
	req := v1.ActRequest{Signal: federation.Signal{Name: c.signal, Batch: c.batch, Full: c.full}}
	path := "/fed/v1/jobs/signal"
	if c.kills() {
		path, req.Signal = "/fed/v1/jobs/cancel", federation.Signal{}
	}
	for _, r := range refs {
		req.Jobs = append(req.Jobs, v1.JobRef{ID: r.id, Tasks: r.tasks})
		if c.verbose {
			fmt.Fprintf(c.stderr, "scancel: %s job %s\n", c.doing(), r.text)
		}
	}
	var resp v1.ActResponse
	if err := show.Post(c.caller, path, req, &resp); err != nil {
		for _, r := range refs {
			fmt.Fprintf(c.stderr, "scancel: error: Kill job error on job id %s: %s\n", r.text, err)
		}
		return 1
	}
	exit := 0
	for i, result := range resp.Results {
		if result.Error == nil || i >= len(refs) {
			continue
		}
		if code := c.report(refs[i], result.Error); code != 0 {
			exit = code
		}
	}
	return exit
}

// doing is what --verbose says of a job.
func (c *command) doing() string {
	switch {
	case c.kills():
		return "Terminating"
	case c.batch:
		return "Signal " + c.signal + " to batch"
	}
	return "Signal " + c.signal + " to"
}

// report prints a refusal and gives the exit code that it makes: the error's number, cut to a byte, as in Slurm. That a job
// has gone already is no failure of a plain scancel, and said only if asked for.
func (c *command) report(r ref, e *v1.Error) int {
	gone := e.Number == wire.ErrJobID || e.Number == wire.ErrAlreadyDone
	if gone && c.kills() && !c.filtered() {
		if c.verbose {
			fmt.Fprintf(c.stderr, "scancel: error: Kill job error on job id %s: %s\n", r.text, e.Text)
		}
		return 0
	}
	if !c.quiet || !gone {
		fmt.Fprintf(c.stderr, "scancel: error: Kill job error on job id %s: %s\n", r.text, e.Text)
	}
	if gone || e.Number&0xff == 0 {
		return 1
	}
	return e.Number & 0xff
}

// matching reads the live jobs and picks those that were named, if any were, and match every filter. A named job
// that does not exist is reported at once; exit is then 1.
func (c *command) matching() (refs []ref, exit int, err error) {
	var q show.Query
	q.Add("users", strings.Join(c.users, ","))
	q.Add("name", strings.Join(c.names, ","))
	q.Add("partition", c.partition)
	q.Add("account", c.account)
	q.Add("qos", c.qos)
	q.Add("sparse", "1") // without what says nothing
	var resp wire.JobsResponse
	// Named jobs are read whatever they are, to tell one that is not there from one that does not match.
	path := wire.Slurm("v0.0.43", wire.PathJobs) + q.String()
	if err := show.Get(c.caller, path, &resp); err != nil {
		return nil, 1, fmt.Errorf("scancel: error: slurm_load_jobs error: %w", err)
	}
	for _, u := range show.InvalidUsers(&resp.Reply) {
		return nil, 1, fmt.Errorf("scancel: error: Invalid user name: %s", u)
	}
	if len(c.refs) == 0 {
		return c.live(resp.Jobs), 0, nil
	}
	for _, r := range c.refs {
		found, known, err := c.named(r, resp.Jobs)
		if err != nil {
			return nil, 1, err
		}
		refs = append(refs, found...)
		if !known {
			exit = c.report(r, &v1.Error{Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID)})
		}
	}
	return refs, exit, nil
}

// live names the jobs of a listing that match, an array once.
func (c *command) live(jobs []wire.Job) []ref {
	var refs []ref
	for i := range jobs {
		j := &jobs[i]
		if !c.matches(j) {
			continue
		}
		r := refOf(j)
		if !slices.ContainsFunc(refs, func(x ref) bool { return x.text == r.text }) {
			refs = append(refs, r)
		}
	}
	return refs
}

// named picks the jobs of a listing that r names; known tells whether the daemon has it at all.
func (c *command) named(r ref, jobs []wire.Job) (refs []ref, known bool, err error) {
	for i := range jobs {
		j := &jobs[i]
		if masterOf(j) != int64(r.id) || len(r.tasks) > 0 && j.ArrayTaskID.Set && !slices.Contains(r.tasks, int(j.ArrayTaskID.Number)) {
			continue
		}
		known = true
		if c.matches(j) {
			refs = append(refs, r)
			break
		}
	}
	if known {
		return refs, true, nil
	}
	var resp wire.JobsResponse
	err = show.Get(c.caller, wire.Slurm("v0.0.43", wire.PathJob)+r.id.String(), &resp)
	if f, ok := err.(*show.Failure); ok && f.Number == wire.ErrJobID {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("scancel: error: slurm_load_jobs error: %w", err)
	}
	return nil, true, nil
}

// matches makes the selections that the daemon does not make.
func (c *command) matches(j *wire.Job) bool {
	state := show.State(j.State)
	if show.Ended(j.State) || len(c.states) > 0 && !slices.Contains(c.states, state) && !slices.Contains(c.states, wire.BaseState(j.State)) {
		return false
	}
	if c.reservation != "" && j.ReservationName != c.reservation || c.wckey != "" && j.WCKey != c.wckey {
		return false
	}
	if c.nodes == "" {
		return true
	}
	want, _ := hostlist.Expand(c.nodes)
	has, _ := hostlist.Expand(j.Nodes)
	return slices.ContainsFunc(has, func(n string) bool { return slices.Contains(want, n) })
}
