package clients

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/testbed/bed"
)

// TestWithin has a task use its names within the job, with FSUB_FULL at sites of each kind: each lets a requeued job wait for two minutes. It restarts
// itself alone.
func TestWithin(t *testing.T) {
	world.Need(t)
	var want strings.Builder
	for _, run := range []string{"0.0", "1.0", "1.1", "2.0"} {
		index := run[:1]
		names := 2
		if index == "2" { // the task that starts last has the array's own number, which means all of the array
			names = 1
		}
		for range names {
			for _, said := range []string{"show ArrayTaskId=" + index + " JobState=RUNNING", "squeue " + index + " R", "sacct RUNNING", "updated " + index + " by-" + index, "held and released", "has a step"} {
				want.WriteString(run + " " + said + "\n")
			}
		}
		want.WriteString(run + " Dependency\n")
	}
	for site, user := range map[string]string{"alpha": "dave", "beta": "alice", "gamma": "carol"} { // who are known there
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			if site != "beta" && os.Getenv("FSUB_FULL") == "" {
				t.Skip("SKIPPED: takes two minutes: FSUB_FULL=1 runs it")
			}
			if got := transcript(t, bed.Login, user, "within.sh", site); got != want.String() {
				t.Errorf("(-want +got)\n%s", cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")))
			}
		})
	}
}

// transcript is what a script says in the login or at a site.
func transcript(t *testing.T, where, user, script string, args ...string) string {
	u, err := bed.FindUser(user)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(world.Bed.Home(user), strings.Join(append([]string{script, where}, args...), "-"))
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, u.UID, u.UID)); err != nil {
		t.Fatal(err)
	}
	env := []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin"}
	if where == bed.Login {
		env = []string{"LC_ALL=C.UTF-8", "PATH=" + world.Bed.BinDir() + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}
	}
	var out bytes.Buffer
	err = world.Bed.Exec(t.Context(), bed.Cmd{Site: where, User: user, Dir: dir, Env: env, Stdout: &out, Stderr: &out,
		Args: append([]string{"sh", filepath.Join(world.Bed.BinDir(), "scripts", script)}, args...)})
	if err != nil {
		t.Fatalf("%s at %s: %v\n%s", script, where, err, &out)
	}
	return out.String()
}

// TestArraysNumber: what an array's own number means to commands, in its tasks and outside, is what a real site's own make of it. Of running tasks the one that has
// started last has that number, also as SLURM_JOB_ID and in sacct.
func TestArraysNumber(t *testing.T) {
	world.Need(t)
	var real, ours string
	t.Run("transcripts", func(t *testing.T) { // side by side
		t.Run("real", func(t *testing.T) { t.Parallel(); real = transcript(t, "alpha", "dave", "number.sh", "") })
		t.Run("ours", func(t *testing.T) { t.Parallel(); ours = transcript(t, bed.Login, "dave", "number.sh", "alpha") })
	})
	if !strings.Contains(real, "\nnumber: the-array\n") || !strings.Contains(real, "sacct: A_0|its-own|RUNNING A_1|its-own|RUNNING A_2|A|RUNNING\n") {
		t.Errorf("the site's own commands say\n%s", real)
	}
	if ours != real {
		t.Errorf("(-real +ours)\n%s", cmp.Diff(strings.Split(real, "\n"), strings.Split(ours, "\n")))
	}
}
