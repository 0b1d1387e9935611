package staging_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/sbatch"
)

// keeping is a world in which a job keeps ck and state/n; attempt makes the next attempt of it.
type keeping struct {
	*world
	fed *sbatch.Fed
}

func newKeeping(t *testing.T) *keeping {
	return &keeping{newWorld(t), &sbatch.Fed{Keep: []string{"ck", "state/n"}}}
}

// attempt prepares the next attempt of the job.
func (k *keeping) attempt(script string) (federation.Submission, *federation.Attempt) {
	k.Helper()
	j, a := k.job(script, k.fed)
	a.Number = len(k.attempts) + 1
	a.Key = fmt.Sprintf("fsub:test:30000001.%d.abc", a.Number)
	sub := k.prepare(j, a)
	a.Started = time.Now()
	k.attempts = append(k.attempts, *a)
	return sub, a
}

// saved waits until a copy of the attempt counts.
func (k *keeping) saved(a *federation.Attempt) *egress.Kept {
	k.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		got, err := k.stager.Kept(k.Context(), a)
		if err != nil {
			k.Fatal(err)
		}
		if got != nil {
			return got
		}
	}
	k.Fatal("nothing was saved")
	return nil
}

// out is what an attempt that has ended sent of its output.
func (k *keeping) out(a *federation.Attempt) string {
	k.Helper()
	j, _ := k.job("", k.fed)
	part, err := k.stager.ReadLog(k.Context(), j, a, -1, false, 0, 1<<16)
	if err != nil {
		k.Fatal(err)
	}
	return string(part.Text)
}

const shows = "#!/bin/sh\ncat ck/a state/n 2>&1\nls -A | sort\n"

// TestKeptWhenToldToEnd: what a script writes when it is told to end is there when the next attempt begins.
func TestKeptWhenToldToEnd(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	sub, a := k.attempt("#!/bin/bash\nmkdir ck state\ntrap 'echo 1 >ck/a; echo 2 >state/n; exit 0' USR1\necho ready\nfor i in {1..600}; do sleep 0.1; done\n")
	if !strings.HasPrefix(sub.Payload.Script, "#!/bin/sh\n_fsub_scratch=") {
		t.Errorf("agents know it by its first words (agentapi.Launch.SavesItself): %.50q", sub.Payload.Script)
	}
	n := k.start(sub, 0)
	n.await("ready")
	n.signal("USR1")
	if got := n.wait(); got != "0" {
		t.Fatalf("it ends with %s: %s", got, n.readNode(n))
	}
	if got := k.saved(a); got.Bytes < 1024 || time.Since(got.At).Abs() > time.Hour {
		t.Errorf("%+v", got)
	}
	sub, a = k.attempt(shows)
	n = k.start(sub, 0)
	if got := n.wait(); got != "0" || k.out(a) != "1\n2\nck\nstate\n" {
		t.Errorf("%s: %q", got, k.out(a))
	}
	// A third goes on from there although the second has saved nothing.
	sub, a = k.attempt(shows)
	n = k.start(sub, 0)
	if got := n.wait(); got != "0" || k.out(a) != "1\n2\nck\nstate\n" {
		t.Errorf("%s: %q", got, k.out(a))
	}
}

// TestKeptWhileItRuns: a run that is killed without a word goes on from its last checkpoint, under the same attempt and under another. A copy that breaks off, or of what
// is written meanwhile, does not count.
func TestKeptWhileItRuns(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	var puts int
	first := make(chan bool, 1)
	refuse := func(r *http.Request) bool {
		if obj := r.URL.Query().Get("obj"); r.Method == "PUT" && strings.Contains(obj, "/keep.") && strings.HasSuffix(obj, ".1.0") {
			if puts++; puts == 1 {
				first <- true
			}
			return true
		}
		return false
	}
	k.refuse.Store(&refuse)
	script := "#!/bin/bash\ncat ck/a 2>/dev/null\nmkdir -p ck\necho one >ck/a\necho ready\nfor i in {1..600}; do [ -e go ] && echo two >ck/a && break; sleep 0.1; done\n" +
		"echo second\nfor i in {1..600}; do sleep 0.1; done\n"
	sub, a := k.attempt(strings.ReplaceAll(script, "-e go", "-e "+k.dir+"/go"))
	n := k.start(sub, 0)
	n.await("ready")
	was := *k.saved(a)
	k.write("go", "")
	<-first // the copy of the second one has broken off
	n.kill()
	got, err := k.stager.Kept(t.Context(), a)
	if err != nil || got == nil || *got != was {
		t.Errorf("%+v, %v; before %+v", got, err, was)
	}
	k.refuse.Store(nil)
	// The site runs it once more.
	n = k.start(sub, 1, "SLURM_RESTART_COUNT=1")
	n.await("ready")
	if got := n.readNode(n); !strings.HasPrefix(got, "one\n") {
		t.Errorf("after a requeue at the site: %q", got)
	}
	n.kill()
	sub, a = k.attempt(shows)
	n = k.start(sub, 2)
	n.wait()
	if got := k.out(a); !strings.HasPrefix(got, "one\n") && !strings.HasPrefix(got, "two\n") {
		t.Errorf("after another attempt: %q", got)
	}
}

// TestKeptIsNotTorn: what is written to while it is copied makes no copy; at rest it does.
func TestKeptIsNotTorn(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	sub, a := k.attempt("#!/bin/bash\nmkdir ck\nfor i in {1..40}; do echo $i >>ck/a; sleep 0.1; done\necho rest\nfor i in {1..600}; do sleep 0.1; done\n")
	n := k.start(sub, 0)
	n.await("rest")
	k.saved(a)
	n.kill()
	sub, a = k.attempt("#!/bin/sh\nwc -l <ck/a\n")
	n = k.start(sub, 0)
	n.wait()
	if got := strings.TrimSpace(k.out(a)); got != "40" {
		t.Errorf("%s lines of 40 were kept", got)
	}
}

// TestKeptBetweenHomeAndAway: between sites that see the working directory and those that do not, what is newest is taken along.
func TestKeptBetweenHomeAndAway(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	k.write("ck/a", "home\n") // and no state/n
	sub, a := k.attempt("#!/bin/sh\ncat ck/a\necho away >ck/a\nmkdir state\necho n >state/n\nexit 1\n")
	n := k.start(sub, 0)
	if got := n.wait(); got != "1" || k.out(a) != "home\n" {
		t.Fatalf("%s: %q", got, k.out(a))
	}
	k.saved(a)
	j, near := k.job(shows, k.fed)
	near.Site, near.Key, near.Number = "near", "fsub:test:30000001.2.abc", 2
	link := func() {
		t.Helper()
		if err := k.stager.Link(t.Context(), federation.Submission{Job: j, Payload: k.payload, Key: near.Key}, func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
	link()
	if k.read("ck/a") != "away\n" || k.read("state/n") != "n\n" {
		t.Errorf("at home: %q %q", k.read("ck/a"), k.read("state/n"))
	}
	near.Started = time.Now()
	k.attempts = append(k.attempts, *near)
	k.write("ck/a", "again at home\n")
	link() // it has run there: what it has written stays
	if got := k.read("ck/a"); got != "again at home\n" {
		t.Errorf("at home: %q", got)
	}
	sub, a = k.attempt(shows)
	n = k.start(sub, 0)
	if got := n.wait(); got != "0" || !strings.HasPrefix(k.out(a), "again at home\nn\n") {
		t.Errorf("%s: %q", got, k.out(a))
	}
}
