// Package squeue lists the federation's jobs as Slurm's squeue lists a cluster's: its options, columns, states, exit codes
// and sentences. It asks the daemon for wire.Jobs and turns them into lines; which jobs there are is the daemon's affair.
package squeue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"fsub/cmd/fsub/internal/conn"
	"fsub/cmd/fsub/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Main is the command squeue.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, time.Now())
}

// The formats of squeue. %Y of --start is left-justified, as in Slurm.
const (
	shortFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
	longFormat  = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
	startFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
	stepFormat  = "%.15i %.8j %.9P %.8u %.9M %N"
)

// command is one call of squeue.
type command struct {
	options
	times          show.Times
	stdout, stderr io.Writer
	caller         show.Caller
}

func run(args, env []string, stdout, stderr io.Writer, c show.Caller, now time.Time) int {
	opts, exit, done := parse(args, env, stdout, stderr)
	if done {
		return exit
	}
	var out bytes.Buffer // nothing is printed of a listing that failed half-way
	cmd := &command{options: opts, times: show.NewTimes(env, now), stdout: &out, stderr: stderr, caller: c}
	err := cmd.list()
	if err != nil {
		fmt.Fprintf(stderr, "%s\n", err)
		return 1
	}
	if _, err := stdout.Write(out.Bytes()); err != nil {
		fmt.Fprintf(stderr, "squeue: error: %s\n", err)
		return 1
	}
	return 0
}

// list prints what was asked for. Its error is a whole line for stderr.
func (c *command) list() error {
	clusters, err := c.clusterNames()
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON()
	}
	var resp wire.JobsResponse
	if err := show.Get(c.caller, c.path("v0.0.43"), &resp); err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	for _, u := range show.InvalidUsers(&resp.Reply) {
		fmt.Fprintf(c.stderr, "squeue: error: Invalid user: %s\n\n", u)
	}
	if len(clusters) == 0 {
		return c.print(resp.Jobs)
	}
	for _, name := range clusters {
		if !c.noHeader {
			fmt.Fprintf(c.stdout, "CLUSTER: %s\n", name)
		}
		if err := c.print(ofCluster(resp.Jobs, name, resp.Meta.Slurm.Cluster)); err != nil {
			return err
		}
	}
	return nil
}

// path is the request for the jobs that the options select, as far as the daemon selects them.
func (c *command) path(version string) string {
	if len(c.jobs) == 1 {
		// The only case in which an unknown job is an error.
		return wire.Slurm(version, wire.PathJob) + c.jobs[0]
	}
	var q show.Query
	q.Add("job_id", strings.Join(c.jobs, ","))
	q.Add("users", strings.Join(c.users, ","))
	q.Add("name", strings.Join(c.names, ","))
	q.Add("partition", strings.Join(c.partitions, ","))
	q.Add("account", strings.Join(c.accounts, ","))
	q.Add("qos", strings.Join(c.qos, ","))
	if c.json {
		q.Add("states", strings.Join(c.states, ","))
	} else {
		q.Add("states", strings.Join(c.askedStates(), ","))
		q.Add("sparse", "1") // without what says nothing
	}
	return wire.Slurm(version, wire.PathJobs) + q.String()
}

// askedStates are the states that the daemon need tell of, none for all. It takes CONFIGURING and COMPLETING for states
// beside RUNNING, squeue for flags of it.
func (c *command) askedStates() []string {
	const running = "RUNNING,CONFIGURING,COMPLETING"
	switch {
	case c.allStates:
		return nil
	case len(c.states) == 0:
		return []string{"PENDING", running, "SUSPENDED"}
	case slices.Contains(c.states, "RUNNING"):
		return append(slices.Clone(c.states), running)
	}
	return c.states
}

func (c *command) printJSON() error {
	var raw []byte
	if err := show.Get(c.caller, c.path(wire.Base), &raw); err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	var out bytes.Buffer
	if json.Indent(&out, bytes.TrimSpace(raw), "", "  ") != nil {
		return fmt.Errorf("slurm_load_jobs error: Unexpected message received")
	}
	out.WriteByte('\n')
	c.stdout.Write(out.Bytes())
	return nil
}

// print writes the lines of one cluster.
func (c *command) print(jobs []wire.Job) error {
	rows := c.rows(jobs)
	if c.long && c.format == "" && c.format2 == "" {
		fmt.Fprintln(c.stdout, c.times.Now().Local().Format("Mon Jan 02 15:04:05 2006"))
	}
	layout := c.layout()
	var b strings.Builder
	if !c.noHeader {
		b.WriteString(layout.Header() + "\n")
	}
	for i := range rows {
		b.WriteString(layout.Row(&rows[i]) + "\n")
	}
	_, err := io.WriteString(c.stdout, b.String())
	return err
}

// layout reads the format, and complains about what it does not know.
func (c *command) layout() show.Layout[row] {
	fields := c.fields()
	if c.steps {
		fields = c.stepFields()
	}
	var layout show.Layout[row]
	var unknown []string
	if c.format2 != "" {
		layout, unknown = show.LongFormat(c.format2, fields.names)
	} else {
		layout, unknown = show.Format(c.oneFormat(), fields.letters)
	}
	for _, u := range unknown {
		fmt.Fprintf(c.stderr, "squeue: error: Invalid job format specification: %s\n", u)
	}
	return layout
}

func (c *command) oneFormat() string {
	switch {
	case c.format != "":
		return c.format
	case c.steps:
		return stepFormat
	case c.start:
		return startFormat
	case c.long:
		return longFormat
	}
	return shortFormat
}

// clusterNames checks --clusters. A site of the federation is a cluster, and so is the federation as a whole.
func (c *command) clusterNames() ([]string, error) {
	if c.clusters == "" {
		return nil, nil
	}
	var ping wire.PingResponse
	if err := show.Get(c.caller, wire.Slurm(wire.Base, wire.PathPing), &ping); err != nil {
		return nil, fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	whole := ping.Meta.Slurm.Cluster
	if c.clusters == "all" {
		return []string{whole}, nil
	}
	var sites []v1.Site
	if err := show.Get(c.caller, "/fed/v1/sites", &sites); err != nil {
		return nil, fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	known := map[string]bool{whole: true}
	for _, s := range sites {
		known[string(s.Name)] = true
	}
	names := show.List(c.clusters)
	for _, n := range names {
		if !known[n] {
			return nil, fmt.Errorf("squeue: error: No cluster '%s' known by database.\nsqueue: error: '%s' can't be reached now, "+
				"or it is an invalid entry for --cluster.  Use 'fed site list' to see available clusters.\n"+
				"squeue: fatal: Could not get cluster information", n, n)
		}
	}
	return names, nil
}

// ofCluster keeps the jobs of one site; the federation as a whole has all.
func ofCluster(jobs []wire.Job, name, whole string) []wire.Job {
	if name == whole {
		return jobs
	}
	var out []wire.Job
	for _, j := range jobs {
		if j.Cluster == name {
			out = append(out, j)
		}
	}
	return out
}

// uid is the caller's.
func uid() int { return os.Getuid() }
