package realjob

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

// Name is the site: "alpha", 24.11, four nodes of 16 CPUs, 64,000 MiB and 4 GPUs "h100" each, DefMemPerCPU=1000. FSUB_REALJOB_SITE names another of
// [bed.Sites] with four such nodes: "gamma", 26.05, with 8 GPUs "h200"; "delta", 22.05, with 4 GPUs "v100".
var Name = cmp.Or(os.Getenv("FSUB_REALJOB_SITE"), "alpha")

// Config is how the site is made.
func Config() bed.Site {
	return bed.Sites[slices.IndexFunc(bed.Sites, func(s bed.Site) bool { return s.Name == Name })]
}

// Site is the one real site of a test binary. No other jobs may be on it: what a job gets depends on what is free.
type Site struct {
	bed *bed.Bed
	dir string // alice's, for scripts and results
	n   int
}

var shared struct {
	suite.Suite
	site *Site
}

// Main is the TestMain of a package that uses [Open]. FSUB_REALJOB_BED names a bed that is up and has no jobs; else one is made.
func Main(m *testing.M) { run(m, false) }

// MainFlat is Main for a site that knows of no switches, as rented nodes have none that are known. Its slurmctld (24.11.5) ends with a null pointer in
// topology/default now and then: ask with [Site.Many], which starts it again.
func MainFlat(m *testing.M) { run(m, true) }

func run(m *testing.M, flat bool) {
	shared.Main(m, suite.Config{Name: "realjob", Sites: []string{Name}, Bed: bed.Options{Flat: flat}, Lends: true, Start: start})
}

func start(context.Context) error {
	shared.site = &Site{bed: shared.Bed, dir: filepath.Join(shared.Bed.Home("alice"), "realjob"+strconv.Itoa(os.Getpid()))}
	shared.Defer(func() error { return os.RemoveAll(shared.site.dir) })
	return shared.site.folder(shared.site.dir)
}

// Open returns the site, or skips the test where there can be none.
func Open(t *testing.T) *Site {
	t.Helper()
	shared.Need(t)
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
