// Package sdiag prints the counters of the federation's daemon in the layout of Slurm's sdiag: how many jobs came, started and ended today, how many wait and
// run now. What slurmctld measures of its own scheduler and of RPCs has no counterpart, and is 0.
package sdiag

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"fsub/cmd/internal/conn"
	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch/getopt"
	"fsub/slurm/wire"
)

// Main is the command sdiag.
func Main(args, env []string, stdout, stderr io.Writer, c *conn.Conn) int {
	return run(args, env, stdout, stderr, c)
}

type options struct {
	clusters          string
	reset, json, yaml bool
}

var optionSet = option.NewSet(about, []option.Row[options]{
	{Name: "all", Short: 'a'},
	{Name: "reset", Short: 'r', Help: "refused: the counters start at zero at midnight UTC",
		Flag: func(o *options) *bool { return &o.reset }},
	{Name: "cluster", As: "clusters"},
	{Name: "clusters", Short: 'M', Value: "SITE", Help: "only the federation itself can be named",
		Env: "SLURM_CLUSTERS", Text: func(o *options) *string { return &o.clusters }},
	{Name: "sort-by-id", Short: 'i'},
	{Name: "sort-by-time", Short: 't'},
	{Name: "sort-by-time2", Short: 'T'},
	{Name: "json", Value: "VERSION", Help: "JSON, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.json = true; return nil }},
	{Name: "yaml", Value: "VERSION", Help: "YAML, for programs",
		Arg: getopt.OptionalArg, Do: func(o *options, _ option.Value) error { o.yaml = true; return nil }},
	{Name: "version", Short: 'V', Help: "show the version of Slurm whose sdiag this is", Say: show.Version + "\n"},
	{Name: "help", Short: 'h', Help: "show this help", Tell: true},
	{Name: "usage", Help: "show how sdiag is called", Say: "Usage: sdiag [-M cluster] [-aritT]\n"},
})

func run(args, env []string, stdout, stderr io.Writer, c show.Caller) int {
	return optionSet.Run(args, env, stdout, stderr, func(o *options) error { return o.print(c, args, stdout) })
}

// print asks the daemon. Its error is a whole line for stderr.
func (o *options) print(c show.Caller, args []string, stdout io.Writer) error {
	if o.reset {
		return errors.New("sdiag: error: the daemon's counters start at zero at midnight UTC and cannot be reset: leave out --reset")
	}
	clusters, complaint, err := show.Clusters(c, "sdiag", o.clusters)
	switch {
	case err != nil:
		return failed(err)
	case complaint != "":
		return errors.New(strings.TrimSuffix(complaint, "\n"))
	}
	for _, one := range clusters {
		if one.Site != "" {
			return fmt.Errorf("sdiag: error: the daemon does not pass on the counters of %s: run sdiag there, or see: fed site list", one.Name)
		}
	}
	if o.json || o.yaml {
		var resp struct {
			Statistics json.RawMessage `json:"statistics"`
			wire.Reply
		}
		if err := show.Get(c, wire.Slurm(wire.Base, wire.PathDiag), &resp); err != nil {
			return failed(err)
		}
		return show.Document(stdout, &resp, &resp.Reply, "sdiag", args, o.yaml)
	}
	var resp wire.DiagResponse
	if err := show.Get(c, wire.Slurm(wire.Base, wire.PathDiag), &resp); err != nil {
		return failed(err)
	}
	_, err = io.WriteString(stdout, text(&resp.Statistics))
	return err
}

// failed words an error of the daemon; others are whole lines already.
func failed(err error) error {
	if errors.As(err, new(*show.Failure)) {
		return fmt.Errorf("sdiag: error: %w", err)
	}
	return err
}

// text is what sdiag 24.11 prints.
func text(d *wire.Diag) string {
	when := func(n wire.Number) string {
		return fmt.Sprintf("%s (%d)", time.Unix(n.Value(), 0).Local().Format("Mon Jan _2 15:04:05 2006"), n.Value())
	}
	return fmt.Sprintf(layout, when(d.ReqTime), when(d.ReqTimeStart), d.ServerThreadCount, d.AgentQueueSize, d.AgentCount, d.AgentThreadCount, d.DBDAgentQueueSize,
		d.JobsSubmitted, d.JobsStarted, d.JobsCompleted, d.JobsCanceled, d.JobsFailed, when(d.JobStatesTS), d.JobsPending, d.JobsRunning,
		d.ScheduleCycleLast, d.ScheduleCycleMax, d.ScheduleCycleMean, d.ScheduleQueueLen, when(d.ReqTimeStart))
}

const layout = `*******************************************************
sdiag output at %s
Data since      %s
*******************************************************
Server thread count:  %d
RPC queue enabled:    0
Agent queue size:     %d
Agent count:          %d
Agent thread count:   %d
DBD Agent queue size: %d

Jobs submitted: %d
Jobs started:   %d
Jobs completed: %d
Jobs canceled:  %d
Jobs failed:    %d

Job states ts:  %s
Jobs pending:   %d
Jobs running:   %d

Main schedule statistics (microseconds):
	Last cycle:   %d
	Max cycle:    %d
	Total cycles: 0
	Mean cycle:   %d
	Mean depth cycle:  0
	Cycles per minute: 0
	Last queue length: %d

Main scheduler exit:
	End of job queue: 0
	Hit default_queue_depth: 0
	Hit sched_max_job_start: 0
	Blocked on licenses: 0
	Hit max_rpc_cnt: 0
	Timeout (max_sched_time): 0

Backfilling stats
	Total backfilled jobs (since last slurm start): 0
	Total backfilled jobs (since last stats cycle start): 0
	Total backfilled heterogeneous job components: 0
	Total cycles: 0
	Last cycle when: %s
	Last cycle: 0
	Max cycle:  0
	Last depth cycle: 0
	Last depth cycle (try sched): 0
	Last queue length: 0
	Last table size: 0

Backfill exit
	End of job queue: 0
	Hit bf_max_job_start: 0
	Hit bf_max_job_test: 0
	System state changed: 0
	Hit table size limit (bf_node_space_size): 0
	Timeout (bf_max_time): 0

Latency for 1000 calls to gettimeofday(): 0 microseconds

Remote Procedure Call statistics by message type

Remote Procedure Call statistics by user

Pending RPC statistics
	No pending RPCs
`

var about = option.About{
	Name:  "sdiag",
	Does:  "show the counters of the federation's daemon",
	Usage: []string{"sdiag [OPTIONS]"},
	Text: "Shows how many jobs came, started and ended today, and how many wait and run now. What slurmctld measures of its scheduler " +
		"and of RPCs has no counterpart here, and is 0.",
}

// About describes sdiag.
func About() option.About { return optionSet.About() }
