package store_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fsub/federation"
	"fsub/federation/store"
	"fsub/testbed/postgres"
	"fsub/testbed/storetest"
)

// serverOfTest in the environment is the server of the parent's test, in the process that it kills.
const serverOfTest = "FSUB_TEST_POSTGRES"

func TestConformancePostgres(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); os.Getenv("FSUB_FULL") == "" { // each draw of a model takes a database of its own
		before := checks.Value.String()
		checks.Value.Set("20")
		defer checks.Value.Set(before)
	}
	start := sync.OnceValue(func() string {
		if address := os.Getenv(serverOfTest); address != "" {
			return address
		}
		s := postgres.Start(t, "fsync=off") // what is killed is the store's process
		t.Setenv(serverOfTest, s.Address("%s"))
		return s.Address("%s")
	})
	if os.Getenv("STORETEST_WRITE_UNTIL_KILLED") == "" {
		start()
	}
	var made databases
	storetest.Suite{Open: func(dir string, first, last federation.JobID) (storetest.Store, error) {
		h := fnv.New64()
		h.Write([]byte(dir))
		name := fmt.Sprintf("fed%x", h.Sum64())
		if err := made.create(fmt.Sprintf(start(), "postgres"), name, dir); err != nil {
			return nil, err
		}
		return store.Open(context.Background(), store.Config{Postgres: &store.Postgres{URL: fmt.Sprintf(start(), name), Unsafe: true}, FirstID: first, LastID: last})
	}}.Run(t)
}

// databases are those of tests, by the directory that each would have for SQLite's file. One that is gone takes its database with it: there are hundreds, of
// 8 MB each.
type databases struct {
	mu sync.Mutex
	of map[string]string
}

func (d *databases) create(address, name, dir string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	d.mu.Lock()
	if d.of == nil {
		d.of = map[string]string{}
	}
	gone := map[string]string{}
	for dir, name := range d.of {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			gone[dir] = name
			delete(d.of, dir)
		}
	}
	_, made := d.of[dir]
	d.of[dir] = name
	d.mu.Unlock()
	for dir, name := range gone {
		_, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "42501" { // it is being vacuumed, by a process that is not ours to end: the next time
			d.mu.Lock()
			d.of[dir] = name
			d.mu.Unlock()
			continue
		}
		if err != nil {
			return err
		}
	}
	if made {
		return nil
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	if e := (*pgconn.PgError)(nil); errors.As(err, &e) && e.Code == "42P04" {
		return nil // it is there
	}
	return err
}

func openPostgres(tb testing.TB, url string) *store.Store {
	tb.Helper()
	return open(tb, store.Config{Postgres: &store.Postgres{URL: url}})
}

// BenchmarkSubmit is durable submission by 64 callers at once to each database on the same disk. They take turns, 2,000 jobs each, so that what else the machine does
// meets all: of the turns the median counts. It shows how much of SQLite's throughput PostgreSQL has, alone and with a synchronous standby.
func BenchmarkSubmit(b *testing.B) {
	const jobs = 2000
	replicated := postgres.Start(b)
	replicated.Standby()
	stores := []struct {
		name string
		*store.Store
	}{{"sqlite", open(b, store.Config{})}, {"postgres", openPostgres(b, postgres.Start(b).URL())}, {"standby", openPostgres(b, replicated.URL())}}
	perSecond, took := make([][]float64, len(stores)), make([][]time.Duration, len(stores))
	for b.Loop() {
		for i, s := range stores {
			began := time.Now()
			took[i] = append(took[i], submitAll(b, s.Store, jobs)...)
			perSecond[i] = append(perSecond[i], jobs/time.Since(began).Seconds())
		}
	}
	for i, s := range stores {
		slices.Sort(took[i])
		b.ReportMetric(median(perSecond[i]), s.name+"/s")
		b.ReportMetric(float64(took[i][len(took[i])*99/100].Microseconds())/1000, s.name+"-p99-ms")
		if i == 0 {
			continue
		}
		ratios := make([]float64, len(perSecond[i]))
		for turn := range ratios {
			ratios[turn] = perSecond[i][turn] / perSecond[0][turn]
		}
		b.ReportMetric(median(ratios), s.name+"/sqlite")
	}
}

func median(all []float64) float64 {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// submitAll submits jobs and returns how long each took.
func submitAll(b *testing.B, s *store.Store, jobs int) []time.Duration {
	const callers = 64
	p := typicalPayload()
	took := make([]time.Duration, jobs)
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)); i <= jobs; i = int(next.Add(1)) {
				began := time.Now()
				if err := s.CreateJob(b.Context(), typicalJob(i), p); err != nil {
					b.Error(err)
					return
				}
				took[i-1] = time.Since(began)
			}
		})
	}
	all.Wait()
	return took
}
