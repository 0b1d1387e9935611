package jobmap

import (
	"maps"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"fsub/federation"
)

// TestLikeAMap compares a Map with a map, also where it is changed while it is gone through.
func TestLikeAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Map[int]
		want := map[federation.JobID]int{}
		id := func() federation.JobID {
			first := rapid.SampledFrom([]federation.JobID{0, 50, federation.FirstJobID, 1<<32 - 100}).Draw(t, "first")
			return first + federation.JobID(rapid.IntRange(0, 99).Draw(t, "id"))
		}
		n := 0
		change := func() {
			n++
			first, many := id(), federation.JobID(rapid.SampledFrom([]int{1, 1, 40}).Draw(t, "many"))
			set := rapid.Bool().Draw(t, "set")
			for id := first; id >= first && id < first+many; id++ {
				if set {
					m.Set(id, n)
					want[id] = n
				} else {
					m.Delete(id)
					delete(want, id)
				}
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			change()
			seen := 0
			meanwhile := rapid.IntRange(0, 3).Draw(t, "changes meanwhile") == 0
			for id, v := range m.All() {
				if w, ok := want[id]; !ok || w != v {
					t.Fatalf("job %d has %d, want %d, %t", id, v, w, ok)
				}
				if seen++; meanwhile && seen%7 == 0 {
					change()
				}
			}
			if got := maps.Collect(m.All()); !maps.Equal(got, want) || m.Len() != len(want) || !meanwhile && seen != len(want) {
				t.Fatalf("%d values, %d seen: %v, want %v", m.Len(), seen, got, want)
			}
			at := id()
			v, ok := m.Get(at)
			if w, has := want[at]; v != w || ok != has || m.Of(at) != w {
				t.Fatalf("job %d has %d, %t, want %d, %t", at, v, ok, w, has)
			}
		}
	})
}

// BenchmarkBytes is the memory of a million values of eight bytes: of IDs that follow each other, and of every 100th one that is left of many.
func BenchmarkBytes(b *testing.B) {
	const n = 1_000_000
	for _, c := range []struct {
		name string
		left int
	}{{"dense", 1}, {"sparse", 100}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				var m Map[*int]
				for i := range federation.JobID(n) {
					m.Set(federation.FirstJobID+i, nil)
				}
				for i := range federation.JobID(n) {
					if int(i)%c.left > 0 {
						m.Delete(federation.FirstJobID + i)
					}
				}
				b.ReportMetric(float64(heap()-before)/float64(m.Len()), "B/value")
				runtime.KeepAlive(&m)
			}
		})
	}
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
