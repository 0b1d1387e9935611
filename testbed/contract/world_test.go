package contract

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

// sites are one of each Slurm version: 24.11, 26.05, 22.05. The last one is mapped: its jobs have numbers of its own.
var sites = []string{"alpha", "gamma", "delta"}

// The tests share one bed and one daemon. FSUB_CONTRACT_BED names a bed that is up and may be used instead.
var world suite.Suite

func TestMain(m *testing.M) {
	world.Main(m, suite.Config{Name: "contract", Sites: sites, Lends: true, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := world.StartDaemon(ctx, fresh); err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// fresh gives the daemon numbers that no job at the sites of a lent bed has.
func fresh(config map[string]any) {
	if world.Lent {
		config["job_ids"] = map[string]any{"first": 30_000_000 + time.Now().Unix()%100_000*300}
	}
}

// said is what a command printed, and its exit status.
type said struct {
	stdout, stderr string
	code           int
}

// run runs a command as alice, with exactly the environment that is given.
func run(t *testing.T, where, dir string, env, args []string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	full := append(append([]string{"/usr/bin/env", "-i"}, env...), args...)
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: where, User: "alice", Dir: dir, Args: full, Stdout: &stdout, Stderr: &stderr})
	out := said{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return out
}
