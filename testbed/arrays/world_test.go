package arrays

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

// The tests share one bed and one daemon.
var world suite.Suite

// minJobAge is how long ended jobs are remembered. A requeued task comes back to 24.11 after that: slurmrestd cannot requeue there.
const minJobAge = 10 * time.Second

// sites are one of each Slurm version: 24.11, 26.05, 22.05. The last one is mapped: its jobs have numbers of their own.
var sites = []string{"alpha", "gamma", "delta"}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(100*atOnce)); err != nil {
		panic(err)
	}
	world.Main(m, suite.Config{Name: "arrays", Sites: sites, Bed: bed.Options{MinJobAge: minJobAge}, Start: start})
}

func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := world.StartDaemon(ctx, edit); err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// edit has jobs find our commands at every site, for a task requeues itself, and turns off what Slurm does not do: of
// those that may be requeued, jobs that die early where others have died, too, run again elsewhere.
func edit(config map[string]any) {
	for _, s := range config["sites"].([]any) {
		site := s.(map[string]any)
		site["commands"], site["daemon"] = world.Bin, config["socket"]
	}
	config["min_job_age"], config["max_requeue"] = minJobAge.String(), 0
}

// said is what a command printed, and its exit status.
type said struct {
	stdout, stderr string
	code           int
}

// side is one of the two who submit the same: a site's own commands, or ours.
type side struct {
	name string // "sbatch" or "fsub"
	site string
	dir  string            // where it submits, its own
	ids  map[string]string // of its arrays, by the letter that stands for them in a plan
}

// run runs a command of Slurm's name as alice, with exactly the environment that both have.
func (s *side) run(t *testing.T, args ...string) said {
	t.Helper()
	where := s.site
	command := "/usr/bin/" + args[0]
	if s.name == "fsub" {
		where, command = bed.Login, filepath.Join(world.Bin, args[0])
	}
	full := append([]string{"/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=dumb", "SLURM_CONF=/etc/slurm/slurm.conf",
		"HOME=" + world.Bed.Home("alice"), "USER=alice", "LOGNAME=alice", "SHELL=/bin/bash", "FSUB_SOCKET=" + world.Daemon.Socket(), "FSUB_SITES=" + s.site,
		command}, args[1:]...)
	var stdout, stderr bytes.Buffer
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: where, User: "alice", Dir: s.dir, Args: full, Stdout: &stdout, Stderr: &stderr})
	out := said{stdout: stdout.String(), stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		out.code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	if strings.Contains(out.stderr, "a fault of fsub") {
		t.Errorf("%s panicked:\n%s", strings.Join(args, " "), out.stderr)
	}
	return out
}

// newSide makes a side with a directory of its own.
func newSide(t *testing.T, name, site, test string) *side {
	t.Helper()
	alice, err := bed.FindUser("alice")
	if err != nil {
		t.Fatal(err)
	}
	s := &side{name: name, site: site, dir: filepath.Join(world.Bed.Home("alice"), "arrays", site+"-"+test, name), ids: map[string]string{}}
	if err := errors.Join(os.RemoveAll(s.dir), os.MkdirAll(s.dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for dir := s.dir; dir != world.Bed.Home("alice"); dir = filepath.Dir(dir) {
		if err := os.Chown(dir, alice.UID, alice.UID); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *side) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (s *side) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func (s *side) remove(name string) { _ = os.Remove(filepath.Join(s.dir, name)) }

// tell logs what is known of an array whose test has failed: its runs and its files, and of ours the histories of its tasks.
func (s *side) tell(t *testing.T, letter string) {
	id := s.ids[letter]
	out := s.run(t, "sacct", "-X", "-D", "-P", "-j", id, "-o", "jobid,jobidraw,state,exitcode,nodelist,submit,start,end,reason")
	t.Logf("%s: the runs of %s:\n%s%s", s.name, letter, out.stdout, out.stderr)
	files, _ := filepath.Glob(filepath.Join(s.dir, "*"+id+"*"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		t.Logf("%s: %s:\n%s", s.name, filepath.Base(f), text)
	}
	if s.name != "fsub" {
		return
	}
	var all bytes.Buffer
	_ = world.Bed.Exec(context.Background(), bed.Cmd{Site: bed.Login, Args: []string{filepath.Join(world.Bin, "fed"), "job", "show", id + "_[0-99]"},
		Env: []string{"FSUB_SOCKET=" + world.Daemon.Socket()}, Stdout: &all, Stderr: &all})
	t.Logf("the tasks of %s:\n%s", letter, all.String())
}

// cancel ends what a test has left of an array.
func (s *side) cancel(letter string) {
	id, where, command := s.ids[letter], s.site, "scancel"
	if s.name == "fsub" {
		where, command = bed.Login, filepath.Join(world.Bin, "scancel")
	}
	if id != "" {
		_ = world.Bed.Exec(context.Background(), bed.Cmd{Site: where, Args: []string{command, "-Q", id}, Env: []string{"FSUB_SOCKET=" + world.Daemon.Socket()}})
	}
}
