package steps

import (
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// TestAnyRequest: whatever numbers the job's user sends, the agent neither breaks nor counts forever, and what is refused holds nothing.
func TestAnyRequest(t *testing.T) {
	number := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 7, -1, 100, 1 << 20, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64})
	words := rapid.SampledFrom([]string{"", "block", "cyclic", "plane", "arbitrary", "x,y", ",", "=", "*:=", "plane=", "block:cyclic:fcyclic"})
	binds := rapid.SampledFrom([]string{"", "rank", "map_cpu:", "map_cpu:-1", "mask_cpu:zz", "cores", "q,v", "single:-1", "map:9,", "mask:ff", "per_task:-3"})
	rapid.Check(t, func(t *rapid.T) {
		n := func(name string) int { return number.Draw(t, name) }
		b := newTable(launch("a", 1, 4, 2))
		ask := layout.Step{MinNodes: n("N"), MaxNodes: n("max"), Tasks: n("n"), CPUsPerTask: n("c"), TasksPerNode: n("tasks per node"), Relative: n("r"),
			Distribution: words.Draw(t, "m"), Plane: n("plane"), Exact: rapid.Bool().Draw(t, "exact"), Overlap: rapid.Bool().Draw(t, "overlap"),
			Overcommit: rapid.Bool().Draw(t, "O"), MemPerNode: int64(n("mem")), MemPerCPU: int64(n("mem per cpu")), NoGPUs: rapid.Bool().Draw(t, "no gpus"),
			GPUs: n("G"), GPUsPerNode: n("gpus per node"), GPUsPerTask: n("gpus per task"), CPUsPerGPU: n("cpus per gpu"),
			Nodes: rapid.SliceOfN(rapid.SampledFrom([]string{"n1", "n2", "zz"}), 0, 4).Draw(t, "w")}
		st := &step{launch: b.launch, req: wire.Request{Parts: []wire.Part{{Ask: ask, Distribution: words.Draw(t, "distribution"), CPUBind: binds.Draw(t, "cpu bind"), GPUBind: binds.Draw(t, "gpu bind")}}}}
		if _, err := b.try(st); err == nil {
			l := st.layout()
			for i := range l.Nodes {
				n := st.nodeLaunch(&l, i, 1)
				bindCPUs(n)
				bindGPUs(n)
			}
			b.end(st)
		}
		for _, f := range b.free(0) {
			if f.IdleCPUs != f.CPUs || f.IdleGPUs != f.GPUs || f.IdleMem != f.Mem || f.Steps != 0 {
				t.Fatalf("%+v is held", f)
			}
		}
	})
}

// TestAnyDistribution: nor do words that say nothing break it.
func TestAnyDistribution(t *testing.T) {
	for given, want := range map[string]string{"": "Cyclic", "=": "Cyclic", "*:=,": "Cyclic", "plane=4": "Plane", "block:cyclic,Pack": "Block"} {
		b := newTable(launch("a", 1, 4))
		st := &step{launch: b.launch, req: wire.Request{Parts: []wire.Part{{Ask: layout.Step{Tasks: 1}, Distribution: given}}}}
		if _, err := b.try(st); err != nil {
			t.Fatal(err)
		}
		if got := st.status().Layout; got != want {
			t.Errorf("%q is %q, not %q", given, got, want)
		}
	}
}

// TestTooMany: a job has no more steps, and a step no more tasks, than a Slurm site allows.
func TestTooMany(t *testing.T) {
	b := newTable(launch("a", 1, 4))
	try := func(ask layout.Step) error {
		st := &step{launch: b.launch, req: wire.Request{Parts: []wire.Part{{Ask: ask}}}}
		_, err := b.try(st)
		if err == nil {
			b.end(st)
		}
		return err
	}
	if err := try(layout.Step{Tasks: 2_000_000, Overcommit: true}); err == nil || !strings.Contains(err.Error(), "Task count") {
		t.Errorf("two thousand million tasks: %v", err)
	}
	for n := range maxSteps {
		if err := try(layout.Step{Tasks: 1}); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
	}
	if err := try(layout.Step{Tasks: 1}); err == nil || err.Error() != "Step limit reached for this job" {
		t.Errorf("one more step: %v", err)
	}
}

// TestStoppedDaemon: a job that stops its step daemons, which are its user's processes, ends with all that they have started.
func TestStoppedDaemon(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	s, err := New(Config{Addr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler), Daemon: []string{"/bin/sh", "-c", `env -i sleep 1000 & echo $! >"$0"; kill -STOP $$`, file}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := launch("a", 1, 1)
	if _, err := s.AddRun(Run{Launch: l, Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	r := s.run("a")
	st := &step{launch: l, req: wire.Request{Parts: []wire.Part{{Argv: []string{"true"}}}}}
	if _, err := r.table.try(st); err != nil {
		t.Fatal(err)
	}
	layout := st.layout()
	if _, err := s.startDaemon(r, st.nodeLaunch(&layout, 0, 1)); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for pid == 0 {
		text, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		time.Sleep(time.Millisecond)
	}
	s.RemoveRun("a")
	if n := r.local.Load(); n != 0 {
		t.Errorf("%d daemons are left", n)
	}
	for range 120_000 {
		if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	t.Error("its task lives on")
}

// TestPatience: a node that reads nothing holds up its step for a while only.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		w := wire.NewWriter(patient{here})
		for _, kind := range []wire.Kind{wire.Stdin, wire.Kill} {
			if err := w.Write(kind, 0, []byte("x")); err == nil {
				t.Error("nobody has read it")
			}
		}
	})
}

// TestLastWords: what a node has said before it ended is read, though something was written to it after its end.
func TestLastWords(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if _, err := theirs.WriteString("the end"); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	if _, err := (patient{ours}).Write([]byte("x")); err == nil {
		t.Fatal("it has taken something after its end")
	}
	text := make([]byte, 7)
	if n, err := ours.Read(text); err != nil || string(text[:n]) != "the end" {
		t.Errorf("read %q, %v", text[:n], err)
	}
}

// try creates the step if it can be now, and returns its number.
func (b *table) try(s *step) (uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.place(s)
}
