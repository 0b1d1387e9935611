package contract

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
)

// sites are one of each Slurm version: 24.11, 26.05, 22.05. The last one is mapped: its jobs have numbers of its own.
var sites = []string{"alpha", "gamma", "delta"}

// The tests share one bed and one daemon. FSUB_CONTRACT_BED names a bed that is up and may be used instead.
var world struct {
	bed    *bed.Bed
	daemon *daemon.Daemon
	bin    string // directory of our commands
	skip   string
}

func TestMain(m *testing.M) {
	flag.Parse()
	switch {
	case os.Getuid() != 0:
		world.skip = "SKIPPED: not root: real Slurm sites need namespaces of their own"
	case testing.Short():
		world.skip = "SKIPPED: -short leaves out real Slurm"
	default:
		code, err := withWorld(m)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func withWorld(m *testing.M) (code int, err error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("/var/tmp", "fsub-contract-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	b, down, err := openBed(ctx, filepath.Join(dir, "bed"))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, down()) }()
	for _, name := range []string{"fsub", "fed"} {
		if err := build(filepath.Join(dir, name), name); err != nil {
			return 1, err
		}
	}
	world.bed, world.bin = b, dir
	for _, name := range []string{"sbatch", "scancel", "scontrol"} {
		if err := os.Symlink("fsub", filepath.Join(dir, name)); err != nil {
			return 1, err
		}
	}
	d, err := daemon.New(ctx, daemon.Options{Bed: b, Fed: filepath.Join(dir, "fed"), Dir: filepath.Join(dir, "run"), Federation: "contract", Edit: fresh})
	if err == nil {
		err = d.Start(ctx)
	}
	if err != nil {
		return 1, err
	}
	world.daemon = d
	defer d.Stop()
	if err := d.AwaitSites(ctx); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		log, _ := os.ReadFile(d.LogFile())
		fmt.Fprintf(os.Stderr, "the daemon's log ends:\n%s\n", log[max(0, len(log)-8000):])
	}
	return code, nil
}

// fresh gives the daemon numbers that no job at the sites of a lent bed has.
func fresh(config map[string]any) {
	if os.Getenv(lent) != "" {
		config["job_ids"] = map[string]any{"first": 30_000_000 + time.Now().Unix()%100_000*300}
	}
}

// lent names the variable with the directory of a bed that is up.
const lent = "FSUB_CONTRACT_BED"

// openBed starts a bed, or takes the one that is lent.
func openBed(ctx context.Context, dir string) (b *bed.Bed, down func() error, err error) {
	if up := os.Getenv(lent); up != "" {
		b, err = bed.New(bed.Options{Dir: up})
		return b, func() error { return nil }, err
	}
	if b, err = bed.New(bed.Options{Dir: dir}); err != nil {
		return nil, nil, err
	}
	down = func() error { return b.Down(ctx, nil, true, io.Discard) }
	if err := b.Up(ctx, sites, os.Stderr); err != nil {
		return nil, nil, errors.Join(err, down())
	}
	return b, down, nil
}

func build(out, command string) error {
	cmd := exec.Command("go", "build", "-o", out, "fsub/cmd/"+command)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+map[string]string{"fsub": "0", "fed": "1"}[command])
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", command, err, text)
	}
	return nil
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
	err := world.bed.Exec(t.Context(), bed.Cmd{Site: where, User: "alice", Dir: dir, Args: full, Stdout: &stdout, Stderr: &stderr})
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
