// Package scancel cancels and signals jobs of the federation as Slurm's scancel does: its options,
// sentences and exit codes. Who may do what to which job is the daemon's to decide.
package scancel

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/federation/stored"
	"fsub/sbatch/bounded"
	"fsub/slurm/wire"
)

// Main is the command scancel.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, os.Stdin, stdout, stderr, c)
}

func run(args, env []string, stdin io.Reader, stdout, stderr io.Writer, c show.Streamer) int {
	o, exit, done := parse(args, env, stdout, stderr)
	if done {
		return exit
	}
	cmd := &command{options: o, env: env, stdin: stdin, stdout: stdout, stderr: stderr, caller: c}
	return cmd.run()
}

// command is one call of scancel.
type command struct {
	options
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	caller         show.Streamer
	sites          []string // of --clusters; empty: all
	answers        *bufio.Reader
}

// notFederated is Slurm's number of "Not a valid federated job", cut to a byte.
const notFederated = 191

func (c *command) run() int {
	if c.sibling != "" { // a job of ours is at one site at a time
		for _, r := range c.refs {
			c.complain(r, "Not a valid federated job")
		}
		return notFederated
	}
	if err := c.readClusters(); err != nil {
		fmt.Fprintln(c.stderr, err)
		return 1
	}
	var refs []ref
	exit := 0
	for _, r := range c.refs {
		if r.step == "" {
			refs = append(refs, r)
		} else if code := c.cancelStep(r); code != 0 {
			exit = code
		}
	}
	if c.filtered() || c.interactive || len(c.sites) > 0 {
		if len(c.refs) > 0 && len(refs) == 0 {
			return exit
		}
		found, code, err := c.matching(refs)
		if err != nil {
			fmt.Fprintln(c.stderr, err)
			return 1
		}
		refs, exit = found, max(exit, code)
	}
	for some := range slices.Chunk(refs, mostRefs) {
		exit = max(exit, c.act(some))
	}
	return exit
}

// mostRefs is how many jobs one request may name.
var mostRefs = bounded.MaxNamed

// act sends all of refs in one request, as hundreds of IDs may come at once, and reports what was refused.
func (c *command) act(refs []ref) int {
	req := v1.ActRequest{Signal: stored.Signal{Name: c.signal, Batch: c.batch, Full: c.full}}
	path := "/fed/v1/jobs/signal"
	switch {
	case c.kills():
		path, req.Signal = "/fed/v1/jobs/cancel", stored.Signal{}
	case c.signal == "":
		req.Signal.Name = "KILL" // of the batch script alone
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
			c.complain(r, err.Error())
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
	case c.batch:
		return c.doingTo(" batch")
	case c.full:
		return c.doingTo(" full")
	}
	return c.doingTo("")
}

func (c *command) doingTo(what string) string {
	if c.signal == "" {
		return "Terminating" + what
	}
	return "Signal " + signalNumber(c.signal) + " to" + what
}

// report prints a refusal and returns the exit code for it: the error's number, cut to a byte, as
// in Slurm. A job that has ended already is not a failure of a plain scancel, and is reported only
// if asked for.
func (c *command) report(r ref, e *v1.Error) int {
	gone := e.Number == wire.ErrJobID || e.Number == wire.ErrAlreadyDone
	// What was only found by a filter may have ended since, or be on its way: nobody named it.
	if gone && (c.plain() || len(c.refs) == 0) {
		if c.verbose && !c.quiet {
			c.complain(r, e.Text)
		}
		return 0
	}
	if !c.quiet || !gone {
		c.complain(r, e.Text)
	}
	if gone || e.Number&0xff == 0 {
		return 1
	}
	return e.Number & 0xff
}

func (c *command) complain(r ref, why string) {
	fmt.Fprintf(c.stderr, "scancel: error: Kill job error on job id %s: %s\n", r.text, why)
}

// readClusters checks --clusters: names of sites, or of the federation for all of them.
func (c *command) readClusters() error {
	named, complaint, err := show.Clusters(c.caller, "scancel", c.clusters)
	if errors.As(err, new(*show.Failure)) {
		return fmt.Errorf("scancel: error: slurm_load_jobs error: %w", err)
	}
	io.WriteString(c.stderr, complaint)
	for _, n := range named {
		if n.Site == "" {
			c.sites = nil
			break
		}
		c.sites = append(c.sites, n.Site)
	}
	return err
}
