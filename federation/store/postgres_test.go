package store_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
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
	storetest.Suite{Open: func(dir string, first, last federation.JobID) (storetest.Store, error) {
		h := fnv.New64()
		h.Write([]byte(dir))
		name := fmt.Sprintf("fed%x", h.Sum64())
		if err := createDatabase(fmt.Sprintf(start(), "postgres"), name); err != nil {
			return nil, err
		}
		return store.Open(context.Background(), store.Config{Postgres: &store.Postgres{URL: fmt.Sprintf(start(), name), Unsafe: true}, FirstID: first, LastID: last})
	}}.Run(t)
}

func createDatabase(address, name string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
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

// BenchmarkSubmit is durable submission by 64 callers at once to each database on the same disk. It shows how much of SQLite's throughput PostgreSQL has.
func BenchmarkSubmit(b *testing.B) {
	sqlite := 0.0
	b.Run("sqlite", func(b *testing.B) { sqlite = submitAll(b, open(b, store.Config{})) })
	b.Run("postgres", func(b *testing.B) {
		perSecond := submitAll(b, openPostgres(b, postgres.Start(b).URL()))
		b.ReportMetric(perSecond/sqlite, "of-sqlite")
	})
	b.Run("standby", func(b *testing.B) {
		s := postgres.Start(b)
		s.Standby()
		perSecond := submitAll(b, openPostgres(b, s.URL()))
		b.ReportMetric(perSecond/sqlite, "of-sqlite")
	})
}

// submitAll submits b.N jobs and returns how many a second were.
func submitAll(b *testing.B, s *store.Store) float64 {
	const callers = 64
	p := typicalPayload()
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				began := time.Now()
				if err := s.CreateJob(b.Context(), typicalJob(int(i)), p); err != nil {
					b.Error(err)
					return
				}
				took[i-1] = time.Since(began)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	perSecond := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "jobs/s")
	b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
	return perSecond
}
