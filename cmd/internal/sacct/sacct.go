// Package sacct shows what became of jobs as Slurm's sacct does: every job that the federation ever
// accepted, with the fields, widths, state words and time windows of sacct. The daemon selects and
// reports; this package puts it into columns.
package sacct

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Main is the command sacct.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, time.Now())
}

// command is one call of sacct.
type command struct {
	options
	times          show.Times
	stdout, stderr io.Writer
	caller         show.Caller
}

func run(args, env []string, stdout, stderr io.Writer, c show.Caller, now time.Time) int {
	opts, exit, done := parse(args, env, stdout, stderr, now)
	if done {
		return exit
	}
	var out bytes.Buffer // nothing is printed of a listing that failed half-way
	cmd := &command{options: opts, times: show.NewTimes(env, now), stdout: &out, stderr: stderr, caller: c}
	if err := cmd.list(); err != nil {
		fmt.Fprintf(stderr, "%s\n", err)
		return 1
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		fmt.Fprintf(stderr, "sacct: error: %s\n", err)
		return 1
	}
	return 0
}

func (c *command) list() error {
	columns, err := c.columns()
	if err != nil {
		return err
	}
	if len(c.qos) > 0 {
		if err := c.checkQOS(); err != nil {
			return err
		}
	}
	var resp v1.AccountingResponse
	if err := show.Get(c.caller, "/fed/v1/accounting"+c.query(), &resp); err != nil {
		return fmt.Errorf("sacct: error: %w", err)
	}
	for _, u := range show.InvalidUsers(&resp.Reply) {
		return fmt.Errorf("sacct: error: Invalid user id: %s", u)
	}
	jobs := resp.Jobs[:0]
	for _, j := range resp.Jobs {
		if c.selects(&j, resp.Meta.Slurm.Cluster) {
			c.cutTimes(&j)
			jobs = append(jobs, j)
		}
	}
	switch {
	case c.script, c.envVars:
		return c.printPayloads(jobs)
	case c.json, c.yaml:
		return c.printDocument(jobs, resp.Reply)
	}
	c.print(columns, c.records(jobs))
	return nil
}

// checkQOS refuses a QOS that no site has. Where no site tells of any there is nothing to check by.
func (c *command) checkQOS() error {
	var known v1.Associations
	if err := show.Get(c.caller, "/fed/v1/associations", &known); err != nil {
		return fmt.Errorf("sacct: error: %w", err)
	}
	all := known.QOS()
	for _, q := range c.qos {
		if len(all) > 0 && !slices.Contains(all, q) {
			return fmt.Errorf("sacct: error: You gave a bad qos '%s'. Valid QOS's are %s\nsacct: fatal: problem processing qos list", q, strings.Join(all, ","))
		}
	}
	return nil
}

// query is what the daemon selects by.
func (c *command) query() string {
	var q show.Query
	var refs []string
	for _, r := range c.refs {
		refs = append(refs, r.job())
	}
	q.Add("job_id", strings.Join(refs, ","))
	if len(c.users) > 0 {
		q.Add("users", strings.Join(c.users, ","))
	} else if !c.allUsers && len(c.refs) == 0 && show.UID() != 0 {
		q.Add("users", strconv.Itoa(show.UID()))
	}
	if c.duplicates {
		q.Add("duplicates", "1")
	}
	if strings.Contains(strings.ToLower(c.format), "cost") {
		q.Add("cost", "1")
	}
	q.Add("job_name", strings.Join(c.names, ","))
	q.Add("partition", strings.Join(c.partitions, ","))
	q.Add("account", strings.Join(c.accounts, ","))
	q.Add("qos", strings.Join(c.qos, ","))
	q.Add("state", strings.Join(c.states, ","))
	if !c.from.IsZero() {
		q.Add("start_time", strconv.FormatInt(c.from.Unix(), 10))
	}
	if !c.to.IsZero() {
		q.Add("end_time", strconv.FormatInt(c.to.Unix(), 10))
	}
	return q.String()
}

// record is one row: a job, or a step of it.
type record struct {
	*v1.AccountingJob
	step *wire.DBStep
}

// records are the rows: the jobs, each with its steps.
func (c *command) records(jobs []v1.AccountingJob) []record {
	var out []record
	for i := range jobs {
		j := &jobs[i]
		job, steps := c.wanted(j)
		if job {
			out = append(out, record{j, nil})
		}
		for k := range j.Steps {
			if st := &j.Steps[k]; !c.allocations && (job || steps[stepName(st)]) {
				out = append(out, record{j, st})
			}
		}
	}
	return out
}

// wanted tells whether the row of the job itself is asked for, with all that belongs to it, or only
// some of its steps.
func (c *command) wanted(j *v1.AccountingJob) (job bool, steps map[string]bool) {
	if len(c.refs) == 0 {
		return true, nil
	}
	steps = map[string]bool{}
	for _, r := range c.refs {
		if !r.has(j, c.wholeHet) {
			continue
		}
		if r.step == "" || c.allocations {
			return true, nil
		}
		steps[r.step] = true
	}
	return false, steps
}

// stepName is what follows the job in a step's ID: "batch", "0".
func stepName(st *wire.DBStep) string {
	_, name, _ := strings.Cut(string(st.Step.ID), ".")
	return name
}
