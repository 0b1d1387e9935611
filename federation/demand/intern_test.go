package demand

import (
	"runtime"
	"testing"
	"time"

	"fsub/sbatch"
)

func TestOneOfAKind(t *testing.T) {
	a, b := Of(&sbatch.Spec{Name: "a", GRES: "gpu:3"}), Of(&sbatch.Spec{Name: "b", GRES: "gpu:3", Array: "1-5"})
	if a != b {
		t.Error("two like jobs have two demands")
	}
	if a == Of(&sbatch.Spec{GRES: "gpu:4"}) {
		t.Error("two unlike jobs have one demand")
	}
	runtime.KeepAlive(a)
}

// TestForgotten: what nobody holds takes no room.
func TestForgotten(t *testing.T) {
	for i := range 1000 {
		Of(&sbatch.Spec{NTasks: 1_000_000 + i})
	}
	left := 0
	for range 100 {
		runtime.GC()
		known.RLock()
		left = len(known.byKey)
		known.RUnlock()
		if left < 900 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d demands are left", left)
}

func BenchmarkOf(b *testing.B) {
	s := sbatch.Spec{Name: "job", Partition: "gpu", MinNodes: 1, MaxNodes: 1, CPUsPerTask: 11, GPUsPerNode: "h100:1", MemPerGPU: 100 << 10, TimeLimit: time.Hour}
	b.Run("known", func(b *testing.B) {
		d := Of(&s)
		b.ReportAllocs()
		for b.Loop() {
			Of(&s)
		}
		runtime.KeepAlive(d)
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		one := s
		for b.Loop() {
			one.NTasks++
			Of(&one)
		}
	})
}
