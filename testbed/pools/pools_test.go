package pools

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/drivertest"
)

// TestConformance: a site of local machines keeps the promises that real Slurm keeps.
func TestConformance(t *testing.T) {
	timing := quick
	timing.Keep = 8 * time.Second
	w := newWorld(t, options{timing: timing})
	drop := &lossy{world: w}
	drivertest.Run(t, drivertest.Harness{
		Driver: w, Federation: "pools", NextID: nextID,
		User: w.who.user, Other: w.who.other, Account: "physics", OtherAccount: "vision",
		Partition: "main", GPUType: "h100", Nodes: 4, Patience: 2 * time.Minute, Parallel: true,
		Dir: w.home, ReadFile: os.ReadFile,
		LoseReply: func() { drop.lose.Store(true) }, Lossy: drop,
		KillController: w.kill, StartController: w.start, ForgetsAfter: 12 * time.Second,
	})
}

// TestOneNode is the shortest way through everything.
func TestOneNode(t *testing.T) {
	w := newWorld(t, options{})
	ref := w.run(`echo "$SLURM_JOB_ID $(id -u) $PWD $(hostname) $SLURM_JOB_NODELIST"; exit 3`, nil)
	j := w.until(ref, federation.Failed)
	if j.ExitStatus != 3<<8 {
		t.Errorf("exit status %#x", j.ExitStatus)
	}
	want := fmt.Sprintf("%d %d %s %s %s", ref.ID, w.who.user.UID, w.home, j.Nodes, j.Nodes)
	if got := w.file(fmt.Sprintf("slurm-%d.out", ref.ID)); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
}

// TestCommandsInsideJobs: what a job's process asks at its socket reaches the API as the job's owner.
func TestCommandsInsideJobs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("SKIPPED: there is no curl")
	}
	w := newWorld(t, options{})
	asked := make(chan *http.Request, 1)
	var api http.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked <- r
		_, _ = io.WriteString(rw, "the API answers")
	})
	w.api.Store(&api)
	ref := w.run(`curl -s --unix-socket "$FSUB_SOCKET" -H 'X-SLURM-USER-TOKEN: forged' 'http://localhost/slurm/v0.0.41/jobs?a=b'; exec 2>&1; env | grep -c TOKEN`, nil)
	w.until(ref, federation.Failed) // grep found nothing
	if got, want := w.file(fmt.Sprintf("slurm-%d.out", ref.ID)), "the API answers0"; got != want {
		t.Errorf("the job saw %q, want %q", got, want)
	}
	r := <-asked
	if got := r.Header.Get("X-SLURM-USER-TOKEN"); got != "token of "+w.who.user.Name || r.URL.String() != "/slurm/v0.0.41/jobs?a=b" || r.TLS == nil {
		t.Errorf("the API got %s with token %q", r.URL, got)
	}
}

// TestLoginShellFindsTheCommands: a script that sets PATH anew by /etc/profile has srun still.
func TestLoginShellFindsTheCommands(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/etc/profile.d"); err != nil {
		t.Skip("SKIPPED: there is no /etc/profile.d")
	}
	w := newWorld(t, options{})
	ref := w.run("", func(s *federation.Submission) { s.Payload.Script = "#!/bin/bash -l\nsrun -n1 echo from a step\n" })
	w.until(ref, federation.Completed)
	if got := w.file(fmt.Sprintf("slurm-%d.out", ref.ID)); got != "from a step" {
		t.Errorf("output %q", got)
	}
}
