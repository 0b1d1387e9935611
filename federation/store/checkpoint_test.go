package store

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// noise is text that cannot be packed.
func noise(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)[:n]
}

// The WAL is copied and begun anew without a commit that waits for it.
func TestWALIsCopiedBesideTheWriter(t *testing.T) {
	s := openTest(t, nil)
	create := func() {
		if err := s.CreateJob(ctx, new(federation.Job), &sbatch.Payload{Script: noise(50 * pageSize)}); err != nil {
			t.Fatal(err)
		}
	}
	pages, copied := 0, 0
	look := func() {
		var err error
		if pages, copied, err = s.writer.wal.checkpoint("NOOP"); err != nil {
			t.Fatal(err)
		}
	}
	for pages < longWAL {
		create()
		look()
	}
	for began := time.Now(); copied < pages; look() {
		if time.Since(began) > time.Minute {
			t.Fatalf("of the %d pages in the WAL %d are copied", pages, copied)
		}
		time.Sleep(10 * time.Millisecond)
	}
	create()
	if look(); pages >= longWAL {
		t.Errorf("the WAL has %d pages: it was not begun anew", pages)
	}
}

// BenchmarkCommitsWithPauses has commits of 100 KiB, and says how long the slowest take.
func BenchmarkCommitsWithPauses(b *testing.B) {
	s := openTest(b, nil)
	took := make([]time.Duration, 0, b.N)
	payload := sbatch.Payload{Script: noise(100 << 10)}
	for range b.N {
		time.Sleep(5 * time.Millisecond)
		began := time.Now()
		if err := s.CreateJob(ctx, new(federation.Job), &payload); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for name, q := range map[string]float64{"p50-ms": .5, "p99-ms": .99, "p999-ms": .999} {
		b.ReportMetric(float64(took[int(q*float64(len(took)))].Microseconds())/1000, name)
	}
}
