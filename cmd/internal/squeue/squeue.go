// Package squeue lists the federation's jobs as Slurm's squeue lists a cluster's: its options,
// columns, states, exit codes and sentences. The daemon selects and orders the jobs; here they are
// turned into lines one by one as they come, so that a long queue needs no more memory than a short one.
package squeue

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Main is the command squeue.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c, time.Now)
}

// The formats of squeue. %Y of --start is left-justified, as in Slurm. There, unless a format was asked for, it has the site before the nodes, and %R the price and
// the p90 after the reason: see starts.go.
const (
	shortFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
	longFormat  = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
	startFormat = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R"
	stepFormat  = "%.15i %.8j %.9P %.8u %.9M %N"
	stateFormat = "%.18i %.2t" // --only-job-state
)

// command is one call of squeue.
type command struct {
	options
	times  show.Times
	stdout *bufio.Writer
	stderr io.Writer
	caller show.Streamer
}

func run(args, env []string, stdout, stderr io.Writer, c show.Streamer, now func() time.Time) int {
	opts, exit, done := parse(args, env, stdout, stderr)
	if done {
		return exit
	}
	cmd := &command{options: opts, stdout: bufio.NewWriterSize(stdout, 32<<10), stderr: stderr, caller: c}
	for {
		cmd.times = show.NewTimes(env, now())
		err := cmd.list()
		if flushErr := cmd.stdout.Flush(); err == nil && flushErr != nil {
			fmt.Fprintf(stderr, "squeue: error: %s\n", flushErr)
			return 1 // nobody reads any more
		}
		if err != nil {
			fmt.Fprintf(stderr, "%s\n", err)
		}
		if cmd.iterate == 0 {
			if err != nil {
				return 1
			}
			return 0
		}
		io.WriteString(stdout, "\n")
		time.Sleep(cmd.iterate)
	}
}

// list prints what was asked for. Its error is a whole line for stderr.
func (c *command) list() error {
	if !c.noHeader && (c.long || c.iterate > 0) && c.document == "" {
		fmt.Fprintln(c.stdout, c.times.Now().Local().Format("Mon Jan 02 15:04:05 2006"))
	}
	if c.clusters == "" {
		return c.body("")
	}
	clusters, err := c.clusterNames()
	if err != nil {
		return err
	}
	for i, cl := range clusters {
		if !c.noHeader {
			if i > 0 {
				fmt.Fprintln(c.stdout)
			}
			fmt.Fprintf(c.stdout, "CLUSTER: %s\n", cl.Name)
		}
		if err := c.body(cl.Site); err != nil {
			return err
		}
	}
	return nil
}

// body prints the jobs of one cluster, of all if it is "".
func (c *command) body(cluster string) error {
	if c.document != "" {
		return c.printDocument(cluster)
	}
	q, err := show.OpenQueue(c.caller, c.query(cluster))
	var f *show.Failure
	if errors.As(err, &f) && f.Number == wire.ErrJobID && (c.onlyState || c.steps || len(c.stepIDs) > 0) {
		return c.print(nil) // not an error to these
	}
	if err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	defer q.Close()
	if age := q.Head.Age; age > 0 {
		fmt.Fprintf(c.stderr, "squeue: warning: the database does not answer: these are the jobs of %.0f seconds ago\n", math.Ceil(age))
	}
	for _, u := range q.Head.InvalidUsers {
		fmt.Fprintf(c.stderr, "squeue: error: Invalid user: %s\n\n", u)
	}
	if len(q.Head.InvalidNodes) > 0 {
		return fmt.Errorf("squeue: error: Invalid node name %s", q.Head.InvalidNodes[0])
	}
	return c.print(q)
}

// query is the request for the jobs that the options select, as far as the daemon selects them.
func (c *command) query(cluster string) string {
	var q show.Query
	q.Add("cluster", cluster)
	q.Add("job_id", strings.Join(c.jobs, ","))
	if len(c.stepIDs) > 0 {
		q.Add("job_id", strings.Join(c.stepIDs, ","))
	}
	q.Add("users", strings.Join(c.users, ","))
	q.Add("name", strings.Join(c.names, ","))
	q.Add("partition", strings.Join(c.partitions, ","))
	q.Add("account", strings.Join(c.accounts, ","))
	q.Add("qos", strings.Join(c.qos, ","))
	q.Add("nodes", strings.Join(c.nodes, ","))
	switch {
	case c.steps:
		q.Add("states", "RUNNING")
	case len(c.states) > 0:
		q.Add("states", strings.Join(c.states, ","))
	case c.start && !c.allStates:
		q.Add("states", "PENDING")
	case !c.allStates:
		q.Add("live", "1")
	}
	q.Add("sort", c.order())
	if c.tellsStarts() {
		q.Add("start", "1")
	}
	if c.tellsCost() {
		q.Add("cost", "1")
	}
	return q.String()
}

// tellsStarts reports whether the rows show when jobs are expected to start, or what is known of that.
func (c *command) tellsStarts() bool {
	names := strings.ToLower(c.format2)
	return c.document == "" && (c.start || strings.Contains(c.format+c.sort, "S") || strings.Contains(names, "starttime") || strings.Contains(names, "schedsite") ||
		c.tellsCost())
}

// tellsCost reports whether the rows show what jobs come to.
func (c *command) tellsCost() bool {
	return c.document == "" && strings.Contains(strings.ToLower(c.format2), "schedcost")
}

// order is what the rows are sorted by, "" for squeue's own order: partition, state, priority.
func (c *command) order() string {
	switch {
	case c.sort != "":
		return c.sort
	case c.steps:
		return "P,A"
	case c.start:
		return "S"
	}
	return ""
}

// print writes the header and a line for each row of q, which may be nil for none.
func (c *command) print(q *show.Queue) error {
	layout := c.layout()
	if !c.noHeader {
		c.stdout.WriteString(layout.Header() + "\n")
	}
	if q == nil {
		return nil
	}
	selected, foretold := c.selection(), c.tellsMore()
	if c.tellsDependencies() {
		return c.printDependencies(layout, q, selected)
	}
	var j wire.Job
	var line []byte
	for q.Next(&j) {
		if !selected.wants(&j) {
			continue
		}
		var next v1.Foretold
		if foretold {
			next = q.Foretold()
		}
		for _, r := range selected.rows(&j) {
			r.next = next
			line = append(layout.AppendRow(line[:0], &r), '\n')
			if _, err := c.stdout.Write(line); err != nil {
				return fmt.Errorf("squeue: error: %w", err)
			}
		}
	}
	if err := q.Err(); err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	return nil
}

// tellsDependencies reports whether the rows show what jobs wait for.
func (c *command) tellsDependencies() bool {
	return !c.steps && (c.format2 == "" && strings.Contains(c.format, "E") || strings.Contains(strings.ToLower(c.format2), "dependency"))
}

// printDependencies writes the rows once it is known what has become of the jobs that those of them wait for.
func (c *command) printDependencies(layout show.Layout[row], q *show.Queue, selected *selection) error {
	foretold := c.tellsMore()
	var jobs []*wire.Job
	var next []v1.Foretold
	for j := new(wire.Job); q.Next(j); j = new(wire.Job) {
		if selected.wants(j) {
			jobs, next = append(jobs, j), append(next, v1.Foretold{})
			if foretold {
				next[len(next)-1] = q.Foretold()
			}
		}
	}
	if err := q.Err(); err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	show.Dependencies(c.caller, jobs, c.times.Now())
	for i, j := range jobs {
		for _, r := range selected.rows(j) {
			r.next = next[i]
			if _, err := c.stdout.WriteString(layout.Row(&r) + "\n"); err != nil {
				return fmt.Errorf("squeue: error: %w", err)
			}
		}
	}
	return nil
}

// layout reads the format, and complains about what it does not know.
func (c *command) layout() show.Layout[row] {
	fields, what := c.fields(), "job"
	if c.steps {
		fields, what = c.stepFields(), "job step"
	}
	var layout show.Layout[row]
	var unknown []string
	if c.format2 != "" {
		layout, unknown = show.LongFormat(c.format2, fields.names)
	} else {
		if c.start && c.format == "" && !c.steps {
			fields.letters['Y'], fields.letters['R'] = &show.Field[row]{Header: "SCHEDNODES", Value: schedPlace}, &show.Field[row]{Header: "NODELIST(REASON)", Value: c.reasonAndStart}
		}
		layout, unknown = show.Format(c.oneFormat(), fields.letters)
	}
	for _, u := range unknown {
		fmt.Fprintf(c.stderr, "squeue: error: Invalid %s format specification: %s\n", what, u)
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
	case c.onlyState:
		return stateFormat
	case c.long:
		return longFormat
	}
	return shortFormat
}

func oneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
