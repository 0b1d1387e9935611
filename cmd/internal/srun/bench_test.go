package srun

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLaunch is a step of 1,024 tasks over 64 nodes, all on this machine: the time from srun's call to its end, when all tasks have run.
func BenchmarkLaunch(b *testing.B) {
	for _, size := range [...]struct{ nodes, tasks int }{{1, 1}, {4, 16}, {64, 64}, {64, 1024}} {
		b.Run(fmt.Sprintf("nodes=%d/tasks=%d", size.nodes, size.tasks), func(b *testing.B) {
			cpus := make([]int, size.nodes)
			for i := range cpus {
				cpus[i] = 16
			}
			g := newGang(b, cpus...)
			for b.Loop() {
				out, errs, code := g.shell(b, fmt.Sprintf("srun -n%d /bin/true", size.tasks))
				if code != 0 || errs != "" {
					b.Fatal(code, out, errs)
				}
			}
		})
	}
}

// BenchmarkOutput is one task's stream through two nodes and srun.
func BenchmarkOutput(b *testing.B) {
	g := newGang(b, 1, 1)
	for b.Loop() {
		start := time.Now()
		if _, errs, code := g.shell(b, "srun -N1 -n1 -w n2 head -c 200000000 /dev/zero >/dev/null"); code != 0 {
			b.Fatal(code, errs)
		}
		b.ReportMetric(200/time.Since(start).Seconds(), "MB/s")
	}
}
