package store

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/share"
	"fsub/sbatch"
)

var ctx = context.Background()

func openTest(t testing.TB, r prometheus.Registerer) *Store {
	t.Helper()
	s, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "fed.db"), Metrics: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// block keeps the writer busy until the result is called.
func block(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, gate := make(chan struct{}), make(chan struct{})
	go s.writer.submit(ctx, func(*tx) error {
		close(begun)
		<-gate
		return nil
	})
	<-begun
	return func() { close(gate) }
}

// waitQueued returns when n writes are queued.
func waitQueued(s *Store, n int) {
	for s.writer.queue.waiting()+len(s.writer.large) < n {
		time.Sleep(time.Millisecond)
	}
}

func histogram(t *testing.T, r *prometheus.Registry, name string) (count uint64, sum float64) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), h.GetSampleSum()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0, 0
}

func TestQueuedWritesShareOneCommit(t *testing.T) {
	r := prometheus.NewRegistry()
	s := openTest(t, r)
	s.writer.groupTime = time.Hour
	release := block(t, s)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}); err != nil {
				t.Error(err)
			}
		})
	}
	waitQueued(s, 100)
	release()
	all.Wait()
	if commits, writes := histogram(t, r, "fsub_store_commit_writes"); commits != 2 || writes != 101 {
		t.Errorf("%v writes took %d commits, want 101 in 2", writes, commits)
	}
	if commits, _ := histogram(t, r, "fsub_store_commit_seconds"); commits != 2 {
		t.Errorf("%d commits were timed, want 2", commits)
	}
	again, err := Open(ctx, Config{Volatile: true, Metrics: r})
	if err != nil {
		t.Fatalf("second store with the same metrics: %v", err)
	}
	again.Close()
}

// Many writes of one user do not delay another's.
func TestUsersTakeTurnsToWrite(t *testing.T) {
	s := openTest(t, nil)
	release := block(t, s)
	var all sync.WaitGroup
	var mu sync.Mutex
	var order []int64
	write := func(user int64) {
		all.Go(func() {
			err := s.writer.submitOf(ctx, user, 0, func(*tx) error {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, user)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 100 {
		write(1)
		waitQueued(s, i+1)
	}
	write(2)
	waitQueued(s, 101)
	write(3)
	waitQueued(s, 102)
	release()
	all.Wait()
	if !slices.Equal(order[:5], []int64{1, 2, 3, 1, 1}) || len(order) != 102 {
		t.Errorf("%d writes, of users %v ...", len(order), order[:min(len(order), 5)])
	}
}

// TestFailuresInOneCommit puts writes of every fate into one group.
func TestFailuresInOneCommit(t *testing.T) {
	s := openTest(t, nil)
	known := &federation.Job{}
	if err := s.CreateJob(ctx, known, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	release := block(t, s)
	gone, cancel := context.WithCancel(ctx)
	jobs := make([]federation.Job, 30)
	errs := make([]error, 30)
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			switch i % 3 {
			case 0:
				errs[i] = s.CreateJob(ctx, &jobs[i], &sbatch.Payload{})
			case 1:
				errs[i] = s.CreateJob(gone, &jobs[i], &sbatch.Payload{})
			case 2: // its first half is right
				errs[i] = s.Commit(ctx, &journal.Batch{Events: []federation.Event{{Job: known.ID}, {Job: 1}}})
			}
		})
	}
	waitQueued(s, 30)
	cancel()
	release()
	all.Wait()
	used := map[federation.JobID]bool{known.ID: true}
	for i, err := range errs {
		if want := []error{nil, context.Canceled, federation.ErrNotFound}[i%3]; !errors.Is(err, want) {
			t.Errorf("caller %d: %v, want %v", i, err, want)
		}
		if i%3 == 0 {
			used[jobs[i].ID] = true
		}
	}
	stored, err := s.Jobs(ctx, federation.JobQuery{})
	if err != nil || len(stored) != 11 || len(used) != 11 {
		t.Fatalf("%d jobs with %d IDs, want 11: %v", len(stored), len(used), err)
	}
	for i, j := range stored { // the refused ones have used up no ID
		if j.ID != known.ID+federation.JobID(i) || !used[j.ID] {
			t.Errorf("job %d of the list is %d", i, j.ID)
		}
	}
	if events, err := s.Events(ctx, known.ID); err != nil || len(events) != 0 {
		t.Errorf("half of a refused batch: %v, %v", events, err)
	}
}

// TestFullDatabase limits the size of the database, which fails as a full disk does: in the middle of a group.
func TestFullDatabase(t *testing.T) {
	s := openTest(t, nil)
	first := &federation.Job{}
	if err := s.CreateJob(ctx, first, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	limit := func(pages string) {
		t.Helper()
		if err := s.writer.submit(ctx, func(x *tx) error { _, err := x.exec("PRAGMA max_page_count = " + pages); return err }); err != nil {
			t.Fatal(err)
		}
	}
	limit("60")
	release := block(t, s)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			j := &federation.Job{}
			err := s.CreateJob(ctx, j, &sbatch.Payload{Script: strings.Repeat("x", 100_000)})
			if !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), "no space left") || j.ID != 0 {
				t.Errorf("job %d: %v", j.ID, err)
			}
		})
	}
	waitQueued(s, 20)
	release()
	all.Wait()
	if jobs, err := s.Jobs(ctx, federation.JobQuery{}); err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs are stored, want 1: %v", len(jobs), err)
	}
	limit("1000000")
	next := &federation.Job{}
	if err := s.CreateJob(ctx, next, &sbatch.Payload{Script: strings.Repeat("x", 100_000)}); err != nil {
		t.Fatalf("with space again: %v", err)
	}
	if next.ID != first.ID+1 || next.Rev != first.Rev+1 {
		t.Errorf("job %d, Rev %d after job %d, Rev %d: what failed has moved the counters", next.ID, next.Rev, first.ID, first.Rev)
	}
}

func TestWriterIsDurable(t *testing.T) {
	s := openTest(t, nil)
	for pragma, want := range map[string]int64{"synchronous": 2, "foreign_keys": 1, "temp_store": 2, "page_size": pageSize} {
		err := s.writer.submit(ctx, func(x *tx) error {
			got, _, err := x.number("PRAGMA " + pragma)
			if got != want {
				t.Errorf("%s is %d, want %d", pragma, got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	var mode string
	if err := s.readers.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode is %q: %v", mode, err)
	}
	if _, err := s.readers.Exec("DELETE FROM jobs"); err == nil {
		t.Error("a reading connection can write")
	}
}

// TestQueryPlans: the queries that are made all the time must not read all jobs ever seen.
func TestQueryPlans(t *testing.T) {
	s := openTest(t, nil)
	for name, q := range map[string]federation.JobQuery{
		"IDs":     {IDs: []federation.JobID{1, 2, 3}},
		"changed": {IDs: []federation.JobID{1, 2, 3}, Alone: true, EndedAfter: time.Now(), Limit: 1},
		"page":    {AfterID: 1, EndedAfter: time.Now(), Limit: 10},
		"Live":    {Live: true},
		"squeue":  {Live: true, User: "alice"},
		"sacct":   {EndedAfter: time.Now(), User: "alice"},
		"ended":   {EndedAfter: time.Now(), States: federation.EndStates},
	} {
		text, args := selectJobs(jobColumns, q)
		checkPlan(t, s, name, text, args...)
	}
	checkPlan(t, s, "pages", selectPages, 10)
	checkPlan(t, s, "page of live jobs", selectPage, 1, 2)
}

func checkPlan(t *testing.T, s *Store, name, text string, args ...any) {
	t.Helper()
	steps, err := query(ctx, s.readers, func(r *row) string {
		r.next = 3
		return r.text()
	}, "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	byID := strings.Contains(text, "id IN ($1") // and then not even all that are live
	for _, what := range steps {
		if strings.HasPrefix(what, "SCAN jobs") && (byID || !strings.Contains(what, "INDEX jobs_live")) || strings.Contains(what, "PRIMARY KEY (rowid>") {
			t.Errorf("%s: %s", name, what)
		}
	}
}

// TestPoolQueryPlans: what a daemon reads when it starts, and people read all the time, must not go through all machines ever rented.
func TestPoolQueryPlans(t *testing.T) {
	s := openTest(t, nil)
	for name, q := range map[string]struct {
		text string
		args []any
	}{
		"load":    {loadPool, []any{"local", int64(1)}},
		"job":     {poolOfJob, []any{int64(1), "local", "job"}},
		"history": {poolHistory, []any{"", "machine", int64(1), int64(10)}},
		"purge":   {"SELECT" + strings.TrimPrefix(deleteClosedPool, "DELETE"), []any{int64(1), int64(10)}},
	} {
		text := strings.Replace("EXPLAIN QUERY PLAN "+q.text, "SELECT FROM", "SELECT * FROM", 1)
		steps, err := query(ctx, s.readers, func(r *row) string {
			r.next = 3
			return r.text()
		}, text, q.args...)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range steps {
			reads := strings.Contains(what, " pool_records ") && !strings.Contains(what, "INTEGER PRIMARY KEY")
			if reads && !strings.Contains(what, "INDEX pool_records_open") && !strings.Contains(what, "INDEX pool_records_closed (closed") &&
				!strings.Contains(what, "INDEX pool_records_job") {
				t.Errorf("%s: %s", name, what)
			}
		}
	}
}

// TestUsedUpIsForgottenWithItsTransaction: within one group a caller takes the last ID and another finds none; when the group is done
// again, the last ID is free again.
func TestUsedUpIsForgottenWithItsTransaction(t *testing.T) {
	s, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "fed.db"), FirstID: 1, LastID: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		if err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
	}
	old := &federation.Job{ID: 2, State: federation.Completed, End: time.Unix(1, 0)}
	if err := s.Commit(ctx, &journal.Batch{Jobs: []*federation.Job{old}}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Purge(ctx, time.Now()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	release := block(t, s)
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}) })
	}
	waitQueued(s, 2)
	release()
	all.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("one ID was free, and two callers got %v and %v", errs[0], errs[1])
	}
}

// TestReserveMany: the only writer is not held up by somebody who wants a million IDs, also where some are taken.
func TestReserveMany(t *testing.T) {
	s, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "fed.db"), FirstID: 1, LastID: 2_000_000, Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var taken journal.Batch
	for id := federation.JobID(10); id < 1_000_000; id += 10_000 {
		taken.Create = append(taken.Create, &federation.Job{ID: id, State: federation.Pending, Part: &federation.ArrayPart{Array: 1}})
	}
	if err := s.Commit(ctx, &taken); err != nil {
		t.Fatal(err)
	}
	const n = 1_000_000
	type result struct {
		ids []federation.JobID
		err error
	}
	done := make(chan result, 1)
	go func() {
		ids, err := s.ReserveIDs(ctx, n)
		done <- result{ids, err}
	}()
	select {
	case r := <-done:
		if r.err != nil || len(r.ids) != n || !slices.IsSorted(r.ids) || slices.Contains(r.ids, 20_010) || r.ids[n-1] != n+federation.JobID(len(taken.Create)) {
			t.Errorf("%d IDs, %v", len(r.ids), r.err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it takes longer than half a minute")
	}
}

// TestWaitingEnds: somebody's request does not wait for the store without end, and gives its turn back meanwhile. What was given up is not done later.
func TestWaitingEnds(t *testing.T) {
	s, err := Open(ctx, Config{Path: filepath.Join(t.TempDir(), "fed.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.writer.storeWait = 200 * time.Millisecond
	release := block(t, s)
	turns := share.NewTurns(1, 0)
	turn, err := turns.Take(t.Context(), 7001)
	if err != nil {
		t.Fatal(err)
	}
	create := func(ctx context.Context, name string) error {
		return s.CreateJob(ctx, &federation.Job{Spec: &sbatch.Spec{Name: name}}, &sbatch.Payload{})
	}
	errs := make(chan error, 2)
	go func() { errs <- create(share.With(t.Context(), turn), "asked") }()
	gone, cancel := context.WithCancel(t.Context())
	go func() { errs <- create(gone, "gone") }()
	waitQueued(s, 2)
	other, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := turns.Take(other, 7002); err != nil {
		t.Errorf("the turn is not given back: %v", err)
	}
	if err := <-errs; !errors.Is(err, federation.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ends with %v", err)
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("one whose caller has gone ends with %v", err)
	}
	release()
	if err := create(t.Context(), "later"); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Jobs(t.Context(), federation.JobQuery{})
	if err != nil || len(jobs) != 1 || jobs[0].Spec.Name != "later" {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}
