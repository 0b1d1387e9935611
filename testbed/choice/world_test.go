package choice

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

var world suite.Suite

func TestMain(m *testing.M) {
	if os.Getenv("FSUB_FULL") == "" {
		os.Exit(m.Run()) // need skips them all
	}
	// Jobs start in the order in which they came: fair-share would have ours, the only ones of their user, come first.
	world.Main(m, suite.Config{Name: "choice", Sites: bed.AllSites(), Start: start, Bed: bed.Options{Conf: []string{"PriorityWeightFairshare=0", "PriorityWeightAge=0"}}})
}

func need(t *testing.T) {
	t.Helper()
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: many minutes over real Slurm sites; FSUB_FULL=1 runs it")
	}
	world.Need(t)
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	// Running costs the same at all sites, so that only waiting matters.
	err := world.StartDaemon(ctx, func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			site["prices"] = map[string]float64{"cpu": 0.01, "gres/gpu": 0}
		}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

const patience = 8 * time.Minute

// began has a job note when it has started; the second result reads that.
func began(t *testing.T) (command string, read func() time.Time) {
	t.Helper()
	out, err := os.MkdirTemp(world.Bed.Home("alice"), "job-")
	if err == nil {
		err = os.Chmod(out, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(out, "began")
	return "date +%s.%N >> " + file, func() time.Time {
		text, _ := os.ReadFile(file)
		lines := strings.Fields(string(text))
		if len(lines) > 1 {
			t.Errorf("a job has started %d times", len(lines))
		}
		if len(lines) == 0 {
			return time.Time{}
		}
		s, err := strconv.ParseFloat(lines[0], 64)
		if err != nil {
			return time.Time{} // half written
		}
		return time.UnixMicro(int64(s * 1e6))
	}
}

// awaitStart waits until a job has noted its start.
func awaitStart(t *testing.T, what string, read func() time.Time) time.Time {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if at := read(); !at.IsZero() {
			return at
		}
		if time.Now().After(deadline) {
			t.Errorf("%s does not start within %v", what, patience)
			return time.Time{}
		}
	}
}

// submit runs fsub as alice.
func submit(t *testing.T, args ...string) federation.JobID {
	t.Helper()
	var stdout, stderr strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Args: append([]string{"fsub"}, args...), Stdout: &stdout, Stderr: &stderr,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}})
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(stdout.String(), "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %v: %s%s", args, err, stdout.String(), stderr.String())
	}
	return federation.JobID(id)
}

// at runs a command at a site, as a user.
func at(t *testing.T, site, user string, args ...string) string {
	t.Helper()
	out, err := world.Bed.Output(context.Background(), site, user, args...)
	if err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(out)
}

// run starts a shell script as a user at a site, and returns what ends it.
func run(t *testing.T, site, user, script string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd, err := world.Bed.Start(ctx, bed.Cmd{Site: site, User: user, Args: []string{"bash", "-c", script}, Stdout: io.Discard, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		cmd.Wait()
	}
}
