package store_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/store"
	"fsub/sbatch"
)

var million = flag.Int("store.jobs", 1_000_000, "jobs in the store of the benchmarks that read; 0 skips them")

func open(tb testing.TB, c store.Config) *store.Store {
	tb.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(tb.TempDir(), "fed.db")
	}
	s, err := store.Open(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// typicalJob gives every other job a name, and so a Spec, of its own.
func typicalJob(i int) *federation.Job {
	name := "train-llm"
	if i%2 == 0 {
		name = fmt.Sprint("sweep-", i)
	}
	return &federation.Job{
		User: fmt.Sprintf("user%d", i%100), UID: uint32(1000 + i%100), GID: 1000, Priority: uint32(i % 1000), Reason: reasons.Priority,
		SubmitHost: "login1",
		Spec: &sbatch.Spec{
			Name: name, Account: "ml", Partition: "gpu", MinNodes: 2, NTasks: 16, CPUsPerTask: 8, MemPerNode: 256 << 10, GPUsPerNode: "h100:8",
			TimeLimit: 4 * time.Hour, WorkDir: "/home/user/project/run", Output: "logs/%x-%j.out", Command: "/home/user/project/run/train.sh",
		},
	}
}

// typicalPayload has a script of 1 KiB and 30 variables, 3 KiB in all.
func typicalPayload() *sbatch.Payload {
	p := &sbatch.Payload{Script: "#!/bin/bash\n" + strings.Repeat("srun python train.py --epochs 3\n", 32)}
	for i := range 30 {
		p.Environment = append(p.Environment, fmt.Sprintf("VARIABLE_%d=%s", i, strings.Repeat("x", 40)))
	}
	return p
}

// BenchmarkCreateJob is durable submission by so many callers at once, each waiting for its answer. Floors on the machine where
// it was first measured: 6,156 jobs/s at one a commit, 134,936/s at 100 a commit.
func BenchmarkCreateJob(b *testing.B) {
	for _, callers := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			s := open(b, store.Config{})
			p := typicalPayload()
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range callers {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if err := s.CreateJob(b.Context(), typicalJob(int(i)), p); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// fill puts n jobs into a store: every tenth is live. It is done without durability, then the store is opened anew.
func fill(b *testing.B, n int) string {
	path := filepath.Join(b.TempDir(), "fed.db")
	s := open(b, store.Config{Path: path, Volatile: true})
	defer s.Close()
	p := typicalPayload()
	var next atomic.Int64
	var all sync.WaitGroup
	for range 256 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				j := typicalJob(int(i))
				err := s.CreateJob(b.Context(), j, p)
				if err == nil && i%10 != 0 {
					j.State, j.End = federation.Completed, time.Now().Add(-24*time.Hour)
					err = s.Commit(b.Context(), &journal.Batch{Jobs: []*federation.Job{j}})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return path
}

func BenchmarkRead(b *testing.B) {
	if testing.Short() || *million == 0 {
		b.Skip("it fills a store with a million jobs; -short or -store.jobs 0 skip it")
	}
	path := fill(b, *million)
	b.Run("OpenAndListLive", func(b *testing.B) {
		for b.Loop() {
			s := open(b, store.Config{Path: path})
			list(b, s, federation.JobQuery{Live: true}, *million/10)
			s.Close()
		}
	})
	s := open(b, store.Config{Path: path})
	b.Run("ListAll", func(b *testing.B) {
		for b.Loop() {
			list(b, s, federation.JobQuery{}, *million)
		}
	})
	mark := sure(s.Changes(b.Context(), 0, 0)).Mark
	for i := range 100 {
		if err := s.CreateJob(b.Context(), typicalJob(i), typicalPayload()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Changed100", func(b *testing.B) {
		for b.Loop() {
			var ids []federation.JobID
			for _, c := range sure(s.Changes(b.Context(), mark, 0)).Commits {
				for _, x := range c.Changes {
					ids = append(ids, x.Job)
				}
			}
			list(b, s, federation.JobQuery{IDs: ids, Alone: true}, 100)
		}
	})
	b.Run("LiveOfUser", func(b *testing.B) {
		for b.Loop() {
			list(b, s, federation.JobQuery{Live: true, User: "user0"}, -1)
		}
	})
	b.Run("EndedLastHour", func(b *testing.B) {
		for b.Loop() {
			list(b, s, federation.JobQuery{EndedAfter: time.Now().Add(-time.Hour), User: "user1"}, -1)
		}
	})
}

func list(b *testing.B, s *store.Store, q federation.JobQuery, want int) {
	jobs, err := s.Jobs(b.Context(), q)
	if err != nil {
		b.Fatal(err)
	}
	if want >= 0 && len(jobs) != want {
		b.Fatalf("%d jobs, want %d", len(jobs), want)
	}
}

// BenchmarkLoadPool is a start of the daemon beside the books of 100,000 machines that are long gone.
func BenchmarkLoadPool(b *testing.B) {
	path := filepath.Join(b.TempDir(), "fed.db")
	s := open(b, store.Config{Path: path})
	data := []byte(`{"offering": "g6.xlarge/us-east-2a/spot", "padding": "` + strings.Repeat("x", 500) + `"}`)
	now := time.Now()
	for i := range 200 {
		var put []records.PoolRecord
		for n := range 500 {
			put = append(put, records.PoolRecord{Kind: records.PoolMachine, ID: fmt.Sprint(i, ".", n), Closed: now.Add(-time.Hour), Data: data})
		}
		put[0].Closed = time.Time{}
		put[1].Closed = now
		if err := s.CommitPool(b.Context(), "aws", put); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Load400", func(b *testing.B) {
		for b.Loop() {
			if all, err := s.LoadPool(b.Context(), "aws", now.Add(-time.Minute)); err != nil || len(all) != 400 {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("Newest100", func(b *testing.B) {
		for b.Loop() {
			if all, err := s.PoolHistory(b.Context(), "", records.PoolMachine, now.Add(-24*time.Hour), 100); err != nil || len(all) != 100 {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("Commit64", func(b *testing.B) {
		var next atomic.Int64
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
					r := records.PoolRecord{Kind: records.PoolJob, ID: fmt.Sprint(i), Job: federation.JobID(i), Data: data}
					if err := s.CommitPool(b.Context(), "aws", []records.PoolRecord{r}); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
}
