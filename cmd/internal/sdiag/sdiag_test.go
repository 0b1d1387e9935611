package sdiag

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"fsub/slurm/wire"
)

// daemon answers for /diag with numbers that differ, or refuses everything.
type daemon struct{ refuses bool }

func (d daemon) Do(_, path string, _ []byte) (int, []byte, error) {
	switch {
	case d.refuses:
		return 503, []byte(`{"errors":[{"error":"Unable to contact slurm controller (connect failure)","error_number":1800}]}`), nil
	case strings.HasSuffix(path, "/sites"):
		return 200, []byte(`[{"name":"alpha"}]`), nil
	case strings.Contains(path, "/ping"):
		var r wire.PingResponse
		r.Meta.Slurm.Cluster = "fed"
		b, err := json.Marshal(r)
		return 200, b, err
	}
	b, err := json.Marshal(wire.DiagResponse{Statistics: wire.Diag{ReqTime: wire.Num(1795880659), ReqTimeStart: wire.Num(1795880618), ServerThreadCount: 3, AgentQueueSize: 4, AgentCount: 5,
		AgentThreadCount: 6, DBDAgentQueueSize: 7, JobsSubmitted: 20, JobsStarted: 19, JobsCompleted: 18, JobsCanceled: 17, JobsFailed: 16, JobStatesTS: wire.Num(1795880658), JobsPending: 15,
		JobsRunning: 14, ScheduleCycleLast: 101, ScheduleCycleMax: 102, ScheduleCycleMean: 103, ScheduleQueueLen: 13}})
	return 200, b, err
}

// real is what sdiag 24.11.5 printed at a site that had started jobs, without the RPCs, and with the numbers masked.
const real = `*******************************************************
sdiag output at DATE
Data since      DATE
*******************************************************
Server thread count:  N
RPC queue enabled:    N
Agent queue size:     N
Agent count:          N
Agent thread count:   N
DBD Agent queue size: N

Jobs submitted: N
Jobs started:   N
Jobs completed: N
Jobs canceled:  N
Jobs failed:    N

Job states ts:  DATE
Jobs pending:   N
Jobs running:   N

Main schedule statistics (microseconds):
	Last cycle:   N
	Max cycle:    N
	Total cycles: N
	Mean cycle:   N
	Mean depth cycle:  N
	Cycles per minute: N
	Last queue length: N

Main scheduler exit:
	End of job queue: N
	Hit default_queue_depth: N
	Hit sched_max_job_start: N
	Blocked on licenses: N
	Hit max_rpc_cnt: N
	Timeout (max_sched_time): N

Backfilling stats
	Total backfilled jobs (since last slurm start): N
	Total backfilled jobs (since last stats cycle start): N
	Total backfilled heterogeneous job components: N
	Total cycles: N
	Last cycle when: DATE
	Last cycle: N
	Max cycle:  N
	Last depth cycle: N
	Last depth cycle (try sched): N
	Last queue length: N
	Last table size: N

Backfill exit
	End of job queue: N
	Hit bf_max_job_start: N
	Hit bf_max_job_test: N
	System state changed: N
	Hit table size limit (bf_node_space_size): N
	Timeout (bf_max_time): N

Latency for N calls to gettimeofday(): N microseconds

Remote Procedure Call statistics by message type

Remote Procedure Call statistics by user

Pending RPC statistics
	No pending RPCs
`

var (
	dates   = regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} \(\d+\)`)
	numbers = regexp.MustCompile(`\b\d+\b`)
)

func sdiag(d daemon, args ...string) (code int, stdout, stderr string) {
	var out, complaint bytes.Buffer
	code = run(args, nil, &out, &complaint, d)
	return code, out.String(), complaint.String()
}

// TestText: lines are those of Slurm's sdiag, and the daemon's counters stand where they belong.
func TestText(t *testing.T) {
	code, got, complaint := sdiag(daemon{})
	if code != 0 || complaint != "" {
		t.Fatalf("exit %d, %s", code, complaint)
	}
	if masked := numbers.ReplaceAllString(dates.ReplaceAllString(got, "DATE"), "N"); masked != real {
		t.Errorf("it prints\n%s\nwant\n%s", masked, real)
	}
	for _, line := range []string{"(1795880659)", "(1795880618)", "(1795880658)", "Server thread count:  3", "Agent queue size:     4", "Agent count:          5", "Agent thread count:   6",
		"DBD Agent queue size: 7", "Jobs submitted: 20", "Jobs started:   19", "Jobs completed: 18", "Jobs canceled:  17", "Jobs failed:    16", "Jobs pending:   15", "Jobs running:   14",
		"Last cycle:   101", "Max cycle:    102", "Mean cycle:   103", "Last queue length: 13"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("there is no line %q:\n%s", line, got)
		}
	}
}

func TestDocument(t *testing.T) {
	code, got, complaint := sdiag(daemon{}, "--all", "--json")
	var doc struct {
		Statistics wire.Diag
		Meta       struct{ Command []string }
	}
	if err := json.Unmarshal([]byte(got), &doc); err != nil || code != 0 || doc.Statistics.JobsSubmitted != 20 || len(doc.Meta.Command) != 2 {
		t.Errorf("exit %d, %v, %+v: %s%s", code, err, doc, got, complaint)
	}
	if code, got, _ := sdiag(daemon{}, "--yaml"); code != 0 || !strings.Contains(got, "jobs_submitted: !!int 20") {
		t.Errorf("--yaml: exit %d\n%s", code, got)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		args, want string
		refuses    bool
	}{
		{"--reset", "cannot be reset", false},
		{"-M alpha", "run sdiag there", false},
		{"-M nosuch", "nosuch", false},
		{"--bogus", "unrecognized option", false},
		{"", "Unable to contact slurm controller", true},
		{"--json", "Unable to contact slurm controller", true},
	} {
		if code, got, complaint := sdiag(daemon{c.refuses}, strings.Fields(c.args)...); code != 1 || got != "" || !strings.Contains(complaint, c.want) {
			t.Errorf("%q: exit %d, %q, %q, want %q", c.args, code, got, complaint, c.want)
		}
	}
}
