package store_test

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation/store"
)

// fleetRuns makes n runs of three years at five sites, as a site's accounting tells them, in order of their end. 400 users in 60 accounts have three names of jobs each.
func fleetRuns(n int, take func([]ledger.Entry)) {
	r := rand.New(rand.NewPCG(1, 1))
	const span = 3 * 365 * 24 * 3600
	tres := []string{"billing=16,cpu=16,gres/gpu:h100=1,gres/gpu=1,mem=64000M,node=1", "billing=8,cpu=8,mem=16000M,node=1",
		"billing=256,cpu=256,gres/gpu:a100=16,gres/gpu=16,mem=2048000M,node=2"}
	var some []ledger.Entry
	for i := range n {
		user := r.IntN(400)
		kind := r.IntN(3)
		site := "site" + strconv.Itoa((user+kind)%5)
		end := int64(1.7e9) + int64(float64(i)/float64(n)*span)
		start := end - int64(r.ExpFloat64()*3600)
		some = append(some, ledger.Entry{
			ID: ledger.ID{Site: site, Kind: ledger.SiteJob, Job: int64(i), At: start - 100}, Source: ledger.FromSite, ReadAt: int64(i), Number: int64(i),
			Group: ledger.Group{Site: site, Account: "account" + strconv.Itoa(user%60), User: "user" + strconv.Itoa(user), QOS: "normal", Partition: "gpu",
				GPU: [3]string{"h100", "", "a100"}[kind], Name: [3]string{"train", "prep", "eval-#"}[kind]},
			TRES: tres[kind], State: "COMPLETED", Submit: start - 100, Start: start, End: end, Wait: 100, Limit: 7200, CPUUsed: 1000, GPUUsed: -1, PerHour: 2_000_000,
		})
		if len(some) == 4000 || i == n-1 {
			take(some)
			some = some[:0]
		}
	}
}

// BenchmarkBook imports records of slurmdbd that are decoded already.
func BenchmarkBook(b *testing.B) {
	for _, again := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "again"}[again], func(b *testing.B) {
			s, err := store.Open(context.Background(), store.Config{Path: b.TempDir() + "/fed.db"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var portions [][]ledger.Entry
			fleetRuns(b.N, func(some []ledger.Entry) { portions = append(portions, append([]ledger.Entry(nil), some...)) })
			book := func() {
				for _, some := range portions {
					if _, err := s.Book(context.Background(), some, nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			if again {
				book()
			}
			b.ResetTimer()
			book()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// TestReportsOfLargeLedger asks a ledger of ten million runs (FSUB_LEDGER_RUNS says otherwise) what reports ask, as they do, row by row: a month in at most a second of
// CPU time, three years in five, in at most 512 MiB. What else runs on the machine does not count: the time by the clock is only told.
func TestReportsOfLargeLedger(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("FSUB_LEDGER_RUNS"))
	if n == 0 {
		if os.Getenv("FSUB_FULL") == "" {
			t.Skip("takes minutes: set FSUB_FULL=1, or FSUB_LEDGER_RUNS=10000000")
		}
		n = 10_000_000
	}
	s, err := store.Open(t.Context(), store.Config{Path: t.TempDir() + "/fed.db", Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	fleetRuns(n, func(some []ledger.Entry) {
		if _, err := s.Book(t.Context(), some, nil); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d runs booked in %v: %.0f/s; memory %d MiB", n, time.Since(began), float64(n)/time.Since(began).Seconds(), resident())
	first := ledger.DayOf(1.7e9)
	for _, span := range []struct {
		name        string
		from, until int64
		most        time.Duration
	}{{"month", first + 500, first + 531, time.Second}, {"three years", first - 1, first + 3*365 + 1, 5 * time.Second}} {
		for _, every := range []ledger.Period{ledger.Altogether, ledger.Monthly, ledger.Daily} {
			for _, by := range append([]ledger.Dimension{""}, ledger.Dimensions...) {
				q := ledger.SumQuery{From: span.from, Until: span.until, Every: every}
				if by != "" {
					q.By = []ledger.Dimension{by}
				}
				began, used, rows := time.Now(), cpuTime(t), 0
				err := s.EachSum(t.Context(), q, func(*ledger.SumRow) error { rows++; return nil })
				if err != nil || rows == 0 {
					t.Fatalf("%s by %q: %d rows, %v", span.name, by, rows, err)
				}
				took := cpuTime(t) - used
				t.Logf("%s by %q every %q: %d rows in %v of CPU time, %v by the clock", span.name, by, every, rows, took, time.Since(began))
				if took > span.most {
					t.Errorf("%s by %q every %q took %v of CPU time, want at most %v", span.name, by, every, took, span.most)
				}
			}
		}
	}
	t.Logf("memory %d MiB at most", resident())
	if n := resident(); n > 512 {
		t.Errorf("%d MiB were held, want at most 512", n)
	}
}

// cpuTime is what this process has used of CPUs.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the most memory that this process has held, in MiB.
func resident() (mib int) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for a wrong argument alone
	return int(u.Maxrss >> 10)
}
