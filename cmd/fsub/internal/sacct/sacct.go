// Package sacct shows what became of jobs as Slurm's sacct does: every job that the federation ever accepted, with the
// fields, widths, state words and time windows of sacct. The daemon selects and reports; this package puts it into columns.
package sacct

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cmd/fsub/internal/conn"
	"fsub/cmd/fsub/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
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
	if c.script {
		return c.printScripts()
	}
	columns, err := c.columns()
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON()
	}
	var resp v1.AccountingResponse
	if err := show.Get(c.caller, "/fed/v1/accounting"+c.query(), &resp); err != nil {
		return fmt.Errorf("sacct: error: %w", err)
	}
	for _, u := range show.InvalidUsers(&resp.Reply) {
		if _, err := strconv.Atoi(u); err != nil {
			return fmt.Errorf("sacct: fatal: Invalid user id: %s", u)
		}
	}
	c.print(columns, c.records(resp.Jobs, resp.Meta.Slurm.Cluster))
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
	} else if !c.allUsers && len(c.refs) == 0 && os.Getuid() != 0 {
		q.Add("users", strconv.Itoa(os.Getuid()))
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

// records makes the selections that the daemon does not make, and adds the steps.
func (c *command) records(jobs []v1.AccountingJob, whole string) []record {
	var out []record
	for i := range jobs {
		j := &jobs[i]
		if !c.inClusters(j.Cluster, whole) || !c.onNodes(j.Nodes) {
			continue
		}
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

// wanted tells whether the row of the job itself is asked for, with all that belongs to it, or only some of its steps.
func (c *command) wanted(j *v1.AccountingJob) (job bool, steps map[string]bool) {
	if len(c.refs) == 0 {
		return true, nil
	}
	steps = map[string]bool{}
	for _, r := range c.refs {
		if !r.has(j) {
			continue
		}
		if r.step == "" || c.allocations {
			return true, nil
		}
		steps[r.step] = true
	}
	return false, steps
}

func (c *command) inClusters(cluster, whole string) bool {
	return len(c.clusters) == 0 || slices.Contains(c.clusters, cluster) || slices.Contains(c.clusters, whole)
}

func (c *command) onNodes(list string) bool {
	if c.nodes == "" {
		return true
	}
	want, _ := hostlist.Expand(c.nodes)
	has, _ := hostlist.Expand(list)
	return slices.ContainsFunc(has, func(n string) bool { return slices.Contains(want, n) })
}

// stepName is what follows the job in a step's ID: "batch", "0".
func stepName(st *wire.DBStep) string {
	_, name, _ := strings.Cut(string(st.Step.ID), ".")
	return name
}

// printJSON passes on what the accounting says in slurmrestd's shape.
func (c *command) printJSON() error {
	var raw []byte
	if err := show.Get(c.caller, wire.SlurmDB(wire.Base, wire.PathDBJobs)+c.query(), &raw); err != nil {
		return fmt.Errorf("sacct: error: %w", err)
	}
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSpace(raw), "", "  ") != nil {
		return fmt.Errorf("sacct: error: Unexpected message received")
	}
	out.WriteByte('\n')
	_, err := c.stdout.Write(out.Bytes())
	return err
}

// printScripts is --batch-script. A job that is not known has nothing printed.
func (c *command) printScripts() error {
	if len(c.refs) == 0 {
		return fmt.Errorf("sacct: fatal: The options --batch-script and --env-vars need to be used with --jobs")
	}
	for _, r := range c.refs {
		var p sbatch.Payload
		err := show.Get(c.caller, fmt.Sprintf("/fed/v1/job/%d/payload", r.id), &p)
		if f, ok := err.(*show.Failure); ok && f.Number == wire.ErrJobID {
			continue
		} else if ok && f.Number == wire.ErrUserID {
			p.Script = "NONE\n"
		} else if err != nil {
			return fmt.Errorf("sacct: error: %w", err)
		}
		if !c.noHeader {
			fmt.Fprintf(c.stdout, "Batch Script for %d\n%s\n", r.id, strings.Repeat("-", 80))
		}
		fmt.Fprintln(c.stdout, strings.TrimSuffix(p.Script, "\n"))
	}
	return nil
}
