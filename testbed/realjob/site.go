package realjob

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
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
)

// Name is the site: 24.11, four nodes of 16 CPUs, 64,000 MiB and 4 GPUs "h100" each, DefMemPerCPU=1000.
const Name = "alpha"

// Site is the one real site of a test binary. No other jobs may be on it: what a job gets depends on what is free.
type Site struct {
	bed *bed.Bed
	dir string // alice's, for scripts and results
	n   int
}

var shared struct {
	site *Site
	skip string
}

// Main is the TestMain of a package that uses [Open]. FSUB_REALJOB_BED names a bed that is up and has no jobs; else one is made.
func Main(m *testing.M) { run(m, false) }

// MainFlat is Main for a site that knows of no switches, as rented nodes have none that are known. Its slurmctld (24.11.5) ends with a null pointer in
// topology/default now and then: ask with [Site.Many], which starts it again.
func MainFlat(m *testing.M) { run(m, true) }

func run(m *testing.M, flat bool) {
	flag.Parse()
	switch {
	case os.Getuid() != 0:
		shared.skip = "SKIPPED: not root: real Slurm sites need namespaces of their own"
	case testing.Short():
		shared.skip = "SKIPPED: -short leaves out real Slurm"
	default:
		code, err := withSite(m, flat)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func withSite(m *testing.M, flat bool) (code int, err error) {
	ctx := context.Background()
	var b *bed.Bed
	if lent := os.Getenv("FSUB_REALJOB_BED"); lent != "" {
		if b, err = bed.Open(lent); err != nil {
			return 1, err
		}
	} else {
		dir, err := os.MkdirTemp("/var/tmp", "fsub-realjob-")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil {
			return 1, err
		}
		if b, err = bed.New(bed.Options{Dir: filepath.Join(dir, "bed"), Flat: flat, Temporary: true}); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, b.Down(ctx, nil, true, io.Discard)) }()
		if err := b.Up(ctx, []string{Name}, os.Stderr); err != nil {
			return 1, err
		}
	}
	shared.site = &Site{bed: b, dir: filepath.Join(b.Home("alice"), "realjob"+strconv.Itoa(os.Getpid()))}
	defer os.RemoveAll(shared.site.dir)
	if err := shared.site.folder(shared.site.dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// Open returns the site, or skips the test where there can be none.
func Open(t *testing.T) *Site {
	t.Helper()
	if shared.skip != "" {
		t.Skip(shared.skip)
	}
	if shared.site == nil {
		t.Fatal("the package has no TestMain that calls realjob.Main")
	}
	return shared.site
}

// folder makes a folder of alice's.
func (s *Site) folder(path string) error {
	alice, err := bed.FindUser("alice")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chown(path, alice.UID, alice.UID)
}

// Env is what sbatch finds in its environment.
func (s *Site) Env() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "SLURM_CONF=/etc/slurm/slurm.conf",
		"HOME=" + s.bed.Home("alice"), "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash"}
}

// run runs a command as alice within the site, with exactly the environment that is given.
func (s *Site) run(ctx context.Context, dir string, env []string, args ...string) (stdout, stderr string, err error) {
	var out, errOut bytes.Buffer
	err = s.bed.Exec(ctx, bed.Cmd{Site: Name, User: "alice", Dir: dir, Args: append(append([]string{"/usr/bin/env", "-i"}, env...), args...), Stdout: &out, Stderr: &errOut})
	return out.String(), errOut.String(), err
}

// awaitIdle returns when no job is on the nodes any more.
func (s *Site) awaitIdle(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		out, stderr, err := s.run(t.Context(), "/", s.Env(), "squeue", "-h", "-t", "R,CG,CF,S")
		if err != nil {
			t.Fatalf("squeue: %v: %s", err, stderr)
		}
		if strings.TrimSpace(out) == "" {
			return
		}
	}
	t.Fatal("the site has jobs that do not end")
}

func exitError(err error) bool {
	var e *exec.ExitError
	return errors.As(err, &e)
}
