package pools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/local"
	"fsub/federation"
)

// TestSixtyFourNodes is the size that the speed of pools is told for: it shows what a node takes, and fails only if that is too much memory.
func TestSixtyFourNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out 64 nodes")
	}
	timing := quick
	timing.PollWait, timing.List, timing.ListSoon = 10*time.Second, 10*time.Second, 5*time.Second
	w := newWorld(t, options{
		timing: timing, shapes: []local.Shape{{Type: "small", CPUs: 16, Mem: 1024, Max: 64}},
		pools: []cloud.PoolConfig{{Name: "main", Default: true, Max: 64, Idle: time.Hour}},
	})
	began := time.Now()
	ref := w.run(`date +%s.%N; while [ ! -e go ]; do sleep 0.1; done`, ofNodes(64))
	w.until(ref, federation.Running)
	first := w.file(fmt.Sprintf("slurm-%d.out", ref.ID))
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("64 nodes, cold: %.2f s from submission to the first line", seconds-float64(began.UnixNano())/1e9)
	var rss []int
	for _, i := range w.list() {
		text, err := os.ReadFile(filepath.Join(w.dir, "pool", "machines", string(i.ID), "process"))
		if err != nil {
			t.Fatal(err)
		}
		pid, _, _ := strings.Cut(string(text), " ")
		rss = append(rss, residentKiB(t, pid))
	}
	slices.Sort(rss)
	t.Logf("resident: median %d KiB, highest %d KiB of %d agents", rss[len(rss)/2], rss[len(rss)-1], len(rss))
	if len(rss) != 64 || rss[len(rss)-1] > 20<<10 {
		t.Errorf("%d agents; the largest has %d KiB, more than 20 MiB", len(rss), rss[len(rss)-1])
	}
	w.put("go")
	w.until(ref, federation.Completed)
}

func residentKiB(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// BenchmarkJob is a job on a machine that is there: from Submit to its end in the books.
func BenchmarkJob(b *testing.B) {
	w := newWorld(b, options{})
	w.until(w.run("exit 0", nil), federation.Completed)
	for b.Loop() {
		ref := w.run("exit 0", nil)
		for {
			if j, err := w.Lookup(context.Background(), ref); err == nil && j.State == federation.Completed {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
