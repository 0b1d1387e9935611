// Package badnode holds a test over a real Slurm site of which one node kills every job at once, while poison jobs die wherever they run.
package badnode

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

const (
	nodes      = 20
	poisonJobs = 40 // in all
	openJobs   = 60 // other jobs that have not ended, at any time
)

func TestMain(m *testing.M) {
	if os.Getenv("FSUB_FULL") == "" {
		os.Exit(m.Run())
	}
	world.Main(m, suite.Config{Name: "badnode", Sites: []string{"alpha"}, Bed: bed.Options{MinJobAge: 10 * time.Second, Nodes: nodes}, Start: func(ctx context.Context) error {
		if err := world.Programs("fsub", "fed"); err != nil {
			return err
		}
		err := world.StartDaemon(ctx, func(config map[string]any) {
			// A node that is avoided for half an hour shows nothing new meanwhile.
			config["health"] = map[string]any{"rules": map[string]any{"early-deaths": map[string]any{"for": "5s"}}}
		})
		if err != nil {
			return err
		}
		return world.Daemon.AwaitSites(ctx)
	}})
}

// submit runs fsub as a user.
func submit(t *testing.T, user, name, script string) federation.JobID {
	t.Helper()
	var stdout, stderr strings.Builder
	err := world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, User: user, Stdout: &stdout, Stderr: &stderr,
		Args: []string{"fsub", "--requeue", "-t5", "-J", name, "-o", "/dev/null", "--wrap", script}, Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(stdout.String(), "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	return federation.JobID(id)
}

// TestBadNode: all jobs may run again. The node is drained at the site, in the name of the rule; the poison jobs are held; every other job ends well, those that the node has
// failed before too; no good node is drained.
func TestBadNode(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: needs a real Slurm site of many nodes and takes minutes: FSUB_FULL=1 runs it")
	}
	world.Need(t)
	const bad = "alpha2"
	client := world.Daemon.Client()
	defer client.Close()
	job := func(id federation.JobID) federation.Job {
		r, err := client.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return r.Job
	}
	var good, poison []federation.JobID
	drained := ""
	deadline, n := time.Now().Add(8*time.Minute), 0
	for ; drained == "" && time.Now().Before(deadline); time.Sleep(2 * time.Second) {
		open := 0
		for _, id := range good {
			if j := job(id); !j.State.Ended() {
				open++
			}
		}
		for ; open < openJobs && len(good) < 400; open++ {
			n++
			good = append(good, submit(t, []string{"alice", "bob"}[n%2], fmt.Sprint("app", n%3), `[ "$SLURMD_NODENAME" != `+bad+` ] || exit 1; sleep 6`))
		}
		for range min(4, poisonJobs-len(poison)) {
			poison = append(poison, submit(t, []string{"alice", "bob"}[len(poison)%2], "poison", `kill -BUS $$; sleep 1`))
		}
		out, err := world.Bed.Output(t.Context(), "alpha", "", "sinfo", "-h", "-N", "-o", "%N %T %E")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, ":health:") {
				drained = strings.TrimSpace(line)
			}
		}
	}
	if !strings.HasPrefix(drained, bad+" ") || !strings.Contains(drained, ":health:kills-jobs") {
		t.Fatalf("drained is %q after %d jobs, want %s by kills-jobs", drained, len(good), bad)
	}
	t.Logf("%d jobs were submitted until the site showed: %s", len(good), drained)
	for wrong := "x"; wrong != ""; time.Sleep(time.Second) {
		wrong = ""
		for _, id := range good {
			switch j := job(id); {
			case j.State.Ended() && j.State != federation.Completed && time.Since(j.End) > time.Minute:
				t.Fatalf("job %d is %s %s, exit %d on %s", id, j.State, j.Reason, j.ExitStatus, j.Nodes)
			case j.State != federation.Completed:
				wrong = fmt.Sprintf("job %d is %s %s, exit %d on %s", id, j.State, j.Reason, j.ExitStatus, j.Nodes)
			}
		}
		for _, id := range poison {
			if j := job(id); j.State != federation.Pending || j.Held == federation.NotHeld {
				wrong = fmt.Sprintf("poison job %d is %s %s %q", id, j.State, j.Reason, j.Held)
			}
		}
		if wrong != "" && time.Now().After(deadline) {
			t.Fatal(wrong)
		}
	}
	nodes, err := client.Nodes(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		if w := nodes[i].Wanted; w != nil && nodes[i].Name != bad {
			t.Errorf("%s is wanted %+v", nodes[i].Name, w)
		}
	}
	restarts := 0
	for _, id := range good {
		restarts += job(id).Restarts
	}
	t.Logf("all %d jobs ended well after %d restarts, %d poison jobs are held", len(good), restarts, len(poison))
}
