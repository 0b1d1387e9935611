package place

import (
	"flag"
	"fmt"
	"testing"
)

// BenchmarkGrowth is one plan from nothing, as jobs and as nodes grow tenfold. Whoever asks for it by name, -bench Growth, gets a million of each too, which wants 4 GB.
func BenchmarkGrowth(b *testing.B) {
	f := flag.Lookup("test.bench")
	named := f != nil && f.Value.String() == "Growth"
	for _, n := range []int{1000, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("jobs-%d", n), func(b *testing.B) {
			if n == 1_000_000 && !named {
				b.Skip("not asked for by name")
			}
			benchPlan(b, fleet(10, scaled(1000)), mixed(scaled(n)))
		})
	}
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("nodes-%d", 1000*n), func(b *testing.B) {
			if n == 1000 && !named {
				b.Skip("not asked for by name")
			}
			benchPlan(b, fleet(n, scaled(1000)), mixed(scaled(100_000)))
		})
	}
}
