package installed

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
	"fsub/testbed/program"
)

// TestEarlierRelease: the fed of the last tag, then this one, then that of the tag again, on the same state, while a job runs at a real site. The way back is open, or
// closed with the reason.
func TestEarlierRelease(t *testing.T) {
	s.Need(t)
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: the last release is built first: make test-full")
	}
	tag := strings.TrimSpace(run(t, "git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"))
	source := t.TempDir()
	run(t, "git", "clone", "-q", "--branch", tag, "../..", source)
	old, is := filepath.Join(s.Bin, "fed-"+tag), filepath.Join(s.Bin, "fed")
	run(t, "go", "-C", source, "build", "-trimpath", "-tags", program.FedTags, "-o", old, "./cmd/fed")
	if err := s.Programs("fed", "fsub"); err != nil {
		t.Fatal(err)
	}

	start := func(fed string) (*daemon.Daemon, error) {
		d, err := daemon.New(t.Context(), daemon.Options{Bed: s.Bed, Sites: []string{"alpha"}, Fed: fed, Dir: s.Bed.FedDir(), Federation: "earlier",
			Edit: func(c map[string]any) { c["job_ids"] = map[string]int{"first": 31000000, "last": 31999999} }})
		if err == nil {
			err = d.Start(t.Context())
		}
		if err == nil {
			t.Cleanup(d.Stop)
			err = d.AwaitSites(t.Context())
		}
		return d, err
	}
	alice := func(d *daemon.Daemon, args ...string) string {
		t.Helper()
		var out strings.Builder
		err := s.Bed.Exec(t.Context(), bed.Cmd{Site: bed.Login, User: "alice", Env: []string{"FSUB_SOCKET=" + d.Socket()},
			Args: append([]string{filepath.Join(s.Bin, args[0])}, args[1:]...), Stdout: &out, Stderr: &out})
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out.String())
		}
		return strings.TrimSpace(out.String())
	}
	awaitState := func(d *daemon.Daemon, job, want string) {
		t.Helper()
		for range int(patience.Seconds()) {
			if strings.HasPrefix(alice(d, "sacct", "-X", "-n", "-P", "-o", "State", "-j", job), want) {
				return
			}
			run(t, "sleep", "1")
		}
		t.Fatalf("job %s is %s, want %s", job, alice(d, "sacct", "-X", "-n", "-P", "-o", "State", "-j", job), want)
	}

	d, err := start(old)
	if err != nil {
		t.Fatal(err)
	}
	long := alice(d, "fsub", "--parsable", "--wrap=sleep 600")
	awaitState(d, long, "RUNNING")
	held := alice(d, "fsub", "--parsable", "--hold", "--wrap=true")
	d.Stop()

	if d, err = start(is); err != nil {
		t.Fatal(err)
	}
	awaitState(d, long, "RUNNING")
	alice(d, "scontrol", "release", held)
	awaitState(d, held, "COMPLETED")
	d.Stop()

	schema := regexp.MustCompile(`database schema \d+`)
	d, err = start(old)
	switch same := schema.FindString(run(t, old, "version")) == schema.FindString(run(t, is, "version")); {
	case same && err != nil:
		t.Fatal(err)
	case same:
		awaitState(d, long, "RUNNING")
		alice(d, "scancel", long)
		awaitState(d, long, "CANCELLED")
	case err == nil || !strings.Contains(err.Error(), "run the newer fed that wrote it"):
		t.Errorf("%s over a newer schema: %v", tag, err)
	}
	t.Logf("%s to this commit and back: %s", tag, run(t, is, "version"))
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
