// Command bench measures what fsub promises about speed and prints ratios. Each pair is measured in one run, taking turns,
// because the machine's load changes. It starts two Slurm sites in a bed of its own and a daemon for each part, and removes
// all of them. Parts: processes.go, accept.go, shared.go, handover.go, hung.go, tasks.go, queue.go, local.go, rest.go, batch.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
)

// allParts are measured unless others are named, in this order.
const allParts = "processes,accept,shared,handover,hung,tasks,queue,local,rest,batch"

func main() {
	if len(os.Args) > 1 && os.Args[1] == takeTurnsArg {
		exit(takeTurns(os.Stdin, os.Stdout))
	}
	var o options
	var parts string
	flag.StringVar(&o.fsub, "fsub", "bin/fsub", "the fsub binary")
	flag.StringVar(&o.fed, "fed", "bin/fed", "the fed binary")
	flag.StringVar(&o.bed, "bed", "/var/lib/fsub-bed-bench", "directory for the sites; it is removed at the end")
	flag.StringVar(&parts, "parts", allParts, "what to measure")
	o.sizes = whole
	flag.IntVar(&o.count, "count", o.count, "runs of each command")
	flag.IntVar(&o.jobs, "jobs", o.jobs, "submissions to the daemon in each of the rounds of accept")
	flag.IntVar(&o.restJobs, "rest-jobs", o.restJobs, "submissions to slurmrestd in each of the rounds of accept")
	flag.IntVar(&o.rounds, "rounds", o.rounds, "rounds of accept")
	flag.IntVar(&o.handovers, "handovers", o.handovers, "jobs of handover")
	flag.IntVar(&o.taskCount, "tasks", o.taskCount, "tasks and jobs of tasks")
	flag.IntVar(&o.queueJobs, "queue-jobs", o.queueJobs, "jobs of queue")
	flag.IntVar(&o.queueRuns, "queue-runs", o.queueRuns, "runs of each command of queue")
	flag.IntVar(&o.batchJobs, "batch-jobs", o.batchJobs, "jobs of batch")
	flag.IntVar(&o.restJobsQueued, "rest-queued", o.restJobsQueued, "waiting jobs of rest")
	flag.StringVar(&o.restDir, "rest-dir", "", "directory for rest, whose store is kept and used again; made and removed if not set")
	flag.StringVar(&o.json, "json", "", "also write the ratios to this file")
	flag.BoolVar(&o.keep, "keep", false, "leave the sites up")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, strings.Split(parts, ","), os.Stdout)
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: error: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type options struct {
	fsub, fed, bed string
	sizes
	restDir string
	json    string
	keep    bool
}

// bench is one run: its sites and what it has found.
type bench struct {
	options
	b    *bed.Bed
	user bed.User
	out  io.Writer
	rows []row
}

// row is one line of the result. Values are texts with their units.
type row struct {
	what, ours, theirs, ratio, goal string
	met                             bool
}

func run(ctx context.Context, o options, parts []string, out io.Writer) (err error) {
	r := &bench{options: o, out: out}
	do := map[string]func(context.Context) error{
		"processes": r.processes, "accept": r.accept, "shared": r.shared, "handover": r.handover, "hung": r.hung, "tasks": r.tasks, "queue": r.queue, "local": r.local, "rest": r.rest, "batch": r.batch,
	}
	for _, p := range parts {
		if do[p] == nil {
			return fmt.Errorf("no part %q: choose from %s", p, allParts)
		}
	}
	for _, p := range []*string{&r.fsub, &r.fed} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	if len(parts) == 1 && (parts[0] == "local" || parts[0] == "rest" || parts[0] == "batch") { // needs no Slurm
		r.note("machine: %d processors (%s), %s, load %s", runtime.NumCPU(), processor(), runtime.Version(), loadAverage())
		if err := do[parts[0]](ctx); err != nil {
			return fmt.Errorf("%s: %w", parts[0], err)
		}
		r.print()
		return nil
	}
	if r.b, err = bed.New(bed.Options{Dir: o.bed, Temporary: !o.keep}); err != nil {
		return err
	}
	if r.user, err = bed.FindUser("alice"); err != nil {
		return err
	}
	defer func() {
		if o.keep {
			return
		}
		if downErr := r.b.Down(context.WithoutCancel(ctx), nil, true, nil); err == nil {
			err = downErr
		}
	}()
	if err := r.b.Up(ctx, []string{"alpha", "beta"}, os.Stderr); err != nil {
		return err
	}
	if err := r.describe(); err != nil {
		return err
	}
	for _, p := range parts {
		fmt.Fprintf(os.Stderr, "bench: %s\n", p)
		if err := do[p](ctx); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	r.print()
	if o.json != "" {
		return r.writeJSON(o.json)
	}
	return nil
}

// dir is a directory that host and sites see under the same path.
func (r *bench) dir(part string) string { return filepath.Join(r.b.Home("bench"), part) }

// noRates lifts the limits on how fast one user may submit: all submissions of the benchmark are one user's.
func noRates(config map[string]any) {
	config["limits"] = map[string]any{"submissions_per_second": 0, "requests_per_second": 0}
}

// startDaemon starts a daemon with a new state over the sites, all if none is named, and returns once it sees them.
func (r *bench) startDaemon(ctx context.Context, part string, sites ...string) (*daemon.Daemon, error) {
	return r.openDaemon(ctx, part, daemon.Options{Sites: sites})
}

// openDaemon starts one, or several, as startDaemon does.
func (r *bench) openDaemon(ctx context.Context, part string, o daemon.Options) (*daemon.Daemon, error) {
	if err := os.RemoveAll(r.dir(part)); err != nil {
		return nil, err
	}
	o.Bed, o.Fed, o.Dir, o.Federation, o.Edit = r.b, r.fed, r.dir(part), "bench-"+part, noRates
	d, err := daemon.New(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := d.Start(ctx); err != nil {
		return nil, err
	}
	if err := d.AwaitSites(ctx); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}
