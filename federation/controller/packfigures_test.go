package controller

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// TestPackFigures runs a large array, packed and not, at two sites that end at once whatever starts, and logs what the controller and the store spend on it.
// FSUB_PACK_TASKS says how many tasks it has.
func TestPackFigures(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes minutes: with FSUB_FULL=1")
	}
	tasks := 20_000
	if n, err := strconv.Atoi(os.Getenv("FSUB_PACK_TASKS")); err == nil {
		tasks = n
	}
	for _, size := range []int{100, 1} {
		t.Run(fmt.Sprintf("%d tasks, %d to a job", tasks, size), func(t *testing.T) {
			b := newPackBench(t)
			b.cheap.nodes, b.dear.nodes = 50, 50
			b.rounds(20)
			var before, after syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			array := fmt.Sprintf("0-%d", tasks-1)
			id := federation.JobID(0)
			if size > 1 {
				id = b.packed(array, size, 0)
			} else {
				id = b.submit(func(s *sbatch.Spec) { s.Array, s.GPUsPerNode, s.WorkDir = array, "1", "/w" })
			}
			b.rounds(4)
			for b.ctl.jobs.Of(id) != nil {
				b.endAll()
				b.rounds(3)
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
				t.Fatal(err)
			}
			if j := b.job(id); j.State != federation.Completed {
				t.Errorf("the array is %s", j.State)
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			cpu := time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
			t.Logf("%d submissions, %s, %s of CPU, %d MiB of heap", b.cheap.submits+b.dear.submits, time.Since(began).Round(time.Second), cpu.Round(time.Second), mem.HeapSys>>20)
		})
	}
}

// endAll has sites end what waits there, the tasks of packs one by one, and forget what they ended before.
func (b *packBench) endAll() {
	for _, s := range []*fakeSite{b.cheap, b.dear} {
		for id, j := range s.jobs {
			if j.State.Ended() {
				delete(s.jobs, id)
				continue
			}
			s.start(id)
			if p := b.ctl.jobs.packs[id]; p != nil {
				b.say(id, "up")
				for _, m := range p.pack.members {
					b.say(id, fmt.Sprintf("%d s", m.Part.Index), fmt.Sprintf("%d e 0 0 -", m.Part.Index))
				}
			}
			s.end(id, federation.Completed)
		}
	}
}
