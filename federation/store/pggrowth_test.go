package store

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/sbatch"
	testbed "fsub/testbed/postgres"
)

// TestGrowthOnPostgres has jobs come, run, end and be deleted again in compressed time: ten "days", each job kept for two of them. The tables do not grow any more once
// as much is deleted as comes, but for the charges, which the books keep; and a third of the updates of jobs and more touch no index. PostgreSQL's autovacuum, with the
// settings of our tables, is enough. FSUB_GROWTH_JOBS is how many jobs: 200,000.
func TestGrowthOnPostgres(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: set FSUB_FULL=1")
	}
	jobs := 200_000
	if n, err := strconv.Atoi(os.Getenv("FSUB_GROWTH_JOBS")); err == nil {
		jobs = n
	}
	const days, keep = 10, 2
	server := testbed.Start(t, "autovacuum_naptime=1s", "fsync=off")
	url := server.URL()
	s, err := Open(ctx, Config{Postgres: &Postgres{URL: url, Unsafe: true}, KeepFor: time.Second, KeepChanges: int64(jobs)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	start := time.Now().Add(-days * 24 * time.Hour)
	var sizes []int64
	for day := range days {
		now := start.Add(time.Duration(day) * 24 * time.Hour)
		liveADay(t, s, now, jobs/days)
		if _, err := s.Purge(ctx, now.Add(-(keep-1)*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.PurgeAudit(ctx, now.Add(-(keep-1)*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		server.ExecIn("fed1", "SELECT pg_stat_clear_snapshot()")
		size, _ := strconv.ParseInt(server.ExecIn("fed1", "SELECT SUM(pg_total_relation_size(relid)) FROM pg_stat_user_tables WHERE relname <> 'charges'"), 10, 64)
		sizes = append(sizes, size)
		t.Logf("day %d: %d MiB; %s", day+1, size>>20, largestTables(server))
	}
	if steady, last := sizes[days/2], sizes[days-1]; last > steady*3/2 {
		t.Errorf("the tables grow without end: %d MiB after half of the time, %d at its end", steady>>20, last>>20)
	}
	hot := server.ExecIn("fed1", "SELECT 100 * n_tup_hot_upd / GREATEST(n_tup_upd, 1) FROM pg_stat_user_tables WHERE relname = 'jobs'")
	if share, _ := strconv.Atoi(hot); share < 30 {
		t.Errorf("of the updates of jobs %s %% touch no index", hot)
	}
}

// largestTables are the largest tables, with their live and dead rows.
func largestTables(server *testbed.Server) string {
	rows := server.ExecIn("fed1", "SELECT relname, pg_total_relation_size(relid) / 1048576, n_live_tup, n_dead_tup, 100 * n_tup_hot_upd / GREATEST(n_tup_upd, 1) "+
		"FROM pg_stat_user_tables WHERE pg_total_relation_size(relid) > 1048576 ORDER BY 2 DESC LIMIT 8")
	var all []string
	for row := range strings.Lines(rows) {
		f := strings.Split(strings.TrimSpace(row), "|")
		all = append(all, fmt.Sprintf("%s %s MiB, %s rows, %s dead, %s %% HOT", f[0], f[1], f[2], f[3], f[4]))
	}
	return strings.Join(all, "; ")
}

// liveADay submits so many jobs, by 32 callers, and has the controller write what it writes of a job that runs to its end.
func liveADay(t *testing.T, s *Store, now time.Time, count int) {
	t.Helper()
	all := make([]*federation.Job, count)
	var callers sync.WaitGroup
	for c := range 32 {
		callers.Go(func() {
			for i := c; i < count; i += 32 {
				j := &federation.Job{User: fmt.Sprint("u", i%50), UID: uint32(1000 + i%50), Submit: now, Spec: &sbatch.Spec{Name: "job"}}
				if err := s.CreateJob(ctx, j, &sbatch.Payload{Script: "#!/bin/sh\n" + strings.Repeat("srun a.out\n", 40), Environment: []string{"PATH=/bin", "HOME=/home/u"}}); err != nil {
					t.Error(err)
					return
				}
				all[i] = j
			}
		})
	}
	callers.Wait()
	if t.Failed() {
		t.FailNow()
	}
	const group = 128
	for ; len(all) > 0; all = all[min(group, len(all)):] {
		some := all[:min(group, len(all))]
		attempts := make([]*federation.Attempt, len(some))
		for i, j := range some {
			j.Attempt, j.Site = 1, "alpha"
			attempts[i] = &federation.Attempt{Job: j.ID, Number: 1, Key: federation.AttemptKey("test", j, 1) + fmt.Sprint(j.Rev), Site: "alpha", Partition: "main", Created: now}
		}
		for step, state := range []federation.State{federation.Pending, federation.Pending, federation.Running, federation.Completed} {
			b := &journal.Batch{Jobs: some, Attempts: attempts}
			for i, j := range some {
				a := attempts[i]
				j.State, a.State = state, [...]federation.AttemptState{federation.AttemptIntended, federation.AttemptSubmitted, federation.AttemptStarted, federation.AttemptEnded}[step]
				switch state {
				case federation.Running:
					j.Start, a.Started = now.Add(time.Minute), now.Add(time.Minute)
				case federation.Completed:
					j.End, a.Ended, a.Final = now.Add(time.Hour), now.Add(time.Hour), state
					b.Charges = append(b.Charges, federation.Charge{Job: j.ID, Key: a.Key, Attempt: 1, Run: 1, Site: "alpha", User: j.User, State: state, Start: j.Start, End: j.End})
				}
				b.Events = append(b.Events, federation.Event{Job: j.ID, Attempt: 1, At: now, Text: "it is at site alpha, in state " + string(state)})
			}
			if err := s.Commit(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
	}
}
