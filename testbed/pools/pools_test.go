package pools

import (
	"fmt"
	"os"
	"testing"
	"time"

	"fsub/federation"
	"fsub/testbed/drivertest"
)

// TestConformance: a site of local machines keeps the promises that real Slurm keeps.
func TestConformance(t *testing.T) {
	w := newWorld(t, options{})
	drop := &lossy{world: w}
	drivertest.Run(t, drivertest.Harness{
		Driver: w, Federation: "pools", NextID: nextID,
		User: w.who.user, Other: w.who.other, Account: "physics", OtherAccount: "vision",
		Partition: "main", GPUType: "h100", Nodes: 4, Patience: 30 * time.Second, Parallel: true,
		Dir: w.home, ReadFile: os.ReadFile,
		LoseReply: func() { drop.lose = true }, Lossy: drop,
		KillController: w.kill, StartController: w.start,
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
