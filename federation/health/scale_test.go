package health

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"fsub/federation"
)

// manySites are a hundred sites of ten thousand nodes each.
func manySites(id federation.NodeID) Standing {
	return Standing{Pool: string(id.Site) + "/main", Size: 10_000, Site: 10_000}
}

// ends feeds an engine with ends of jobs at such sites, a hundred a second. One in twenty fails at once, of users' own fault, or of the node's.
func ends(e *Engine, n int, rng *rand.Rand, now *time.Time) {
	for range n {
		*now = now.Add(10 * time.Millisecond)
		on := federation.NodeID{Site: federation.SiteName(fmt.Sprintf("site%02d", rng.IntN(100))), Name: fmt.Sprintf("n%d", rng.IntN(10_000))}
		user := fmt.Sprintf("user%d", rng.IntN(2000))
		x := lived(*now, 1+rng.IntN(1<<25), user, user+" train", on)
		switch rng.IntN(20) {
		case 0:
			x = died(*now, int(x.Job), x.User, x.Like, on)
			if rng.IntN(4) == 0 {
				x.State = federation.NodeFail
			}
		}
		e.Ended(x)
		e.TakeChanged()
	}
}

// BenchmarkEnded is an end of a job when failures are remembered of so many nodes of a million; and with it what is asked for each job that is submitted.
func BenchmarkEnded(b *testing.B) {
	for _, nodes := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprintf("%d_nodes", nodes), func(b *testing.B) {
			rng, now := rand.New(rand.NewPCG(1, 2)), testTime
			e := NewEngine(Rules(), manySites)
			for len(e.nodes.all) < nodes {
				ends(e, 1000, rng, &now)
			}
			b.ResetTimer()
			for range b.N {
				ends(e, 1, rng, &now)
				e.SuspectsAt("site07", now)
			}
		})
	}
}

// TestScale: a week of failures over a million nodes stays within bounds of memory and time.
func TestScale(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: takes a minute: FSUB_FULL=1 runs it")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	rng, now := rand.New(rand.NewPCG(1, 2)), testTime
	e := NewEngine(Rules(), manySites)
	const n = 2_000_000 // five and a half hours
	began := time.Now()
	ends(e, n, rng, &now)
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	mib := float64(after.HeapAlloc-before.HeapAlloc) / (1 << 20)
	t.Logf("%d ends: %v each; failures of %d nodes are remembered, of %d jobs, %d suspects: %.0f MiB", n, took/n, len(e.nodes.all), len(e.jobs), len(e.Suspects(now)), mib)
	if mib > 1024 {
		t.Errorf("%.0f MiB", mib)
	}
	runtime.KeepAlive(e)
}
