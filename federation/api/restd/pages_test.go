package restd_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/restd"
	"fsub/federation/journal"
	"fsub/sbatch"
	"fsub/testbed/apitest"
)

// atRead is a store in which something happens before a certain read of a listing.
type atRead struct {
	restd.Store
	reads, at int
	happens   func()
}

func (s *atRead) read() {
	if s.reads++; s.reads == s.at {
		s.happens()
	}
}

func (s *atRead) Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error) {
	s.read()
	return s.Store.Jobs(ctx, q)
}

func (s *atRead) ListJobs(ctx context.Context, q federation.JobQuery) ([]federation.ListedJob, error) {
	s.read()
	return s.Store.ListJobs(ctx, q)
}

// TestTasksWhileListed: whenever tasks of an array become jobs of their own while a listing is read, each is listed once.
func TestTasksWhileListed(t *testing.T) {
	const before, tasks, early, late = 150, 1000, 120, 250 // jobs that are listed before the array; its tasks, and how many of them become jobs before it is listed, and then
	for at := 1; ; at++ {
		inner := apitest.NewStore()
		put := func(j federation.Job) federation.JobID {
			if err := inner.CreateJob(t.Context(), &j, &sbatch.Payload{}); err != nil {
				t.Fatal(err)
			}
			return j.ID
		}
		for range before {
			put(federation.Job{State: federation.Running, Spec: &sbatch.Spec{Name: "other"}})
		}
		array := federation.Job{State: federation.Running, Spec: &sbatch.Spec{Array: fmt.Sprintf("0-%d", tasks-1)}, Whole: &federation.ArrayWhole{Count: tasks}}
		array.ID = put(array)
		split := func(from, to int) {
			array.Spec = &sbatch.Spec{Array: fmt.Sprintf("%d-%d", to, tasks-1)}
			if err := inner.Commit(t.Context(), &journal.Batch{Jobs: []*federation.Job{&array}}); err != nil {
				t.Fatal(err)
			}
			for i := from; i < to; i++ {
				put(federation.Job{State: federation.Running, Spec: &sbatch.Spec{}, Part: &federation.ArrayPart{Array: array.ID, Index: i}})
			}
		}
		split(0, early)
		s := &atRead{Store: inner, at: at, happens: func() { split(early, early+late) }}
		seen := map[int]int{}
		for page, err := range restd.InPages(t.Context(), s, federation.JobQuery{}, restd.ByID) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range page {
				switch j := &page[i]; {
				case j.Part != nil:
					seen[j.Part.Index]++
				case j.ID == array.ID:
					waiting, err := federation.ArrayIndices(j.Spec.Array)
					if err != nil {
						t.Fatal(err)
					}
					for _, index := range waiting {
						seen[index]++
					}
				}
			}
		}
		for index := range tasks {
			if seen[index] != 1 {
				t.Errorf("before read %d: task %d is listed %d times", at, index, seen[index])
				break
			}
		}
		if s.reads < at { // it is over
			if at < 5 {
				t.Errorf("the listing took %d reads", s.reads)
			}
			return
		}
	}
}

// TestAlone: jobs that are named alone are read without the tasks of their arrays.
func TestAlone(t *testing.T) {
	s := apitest.NewStore()
	array := federation.Job{State: federation.Running, Spec: &sbatch.Spec{Array: "1-9"}, Whole: &federation.ArrayWhole{Count: 10}}
	if err := s.CreateJob(t.Context(), &array, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	task := federation.Job{State: federation.Running, Spec: &sbatch.Spec{}, Part: &federation.ArrayPart{Array: array.ID}}
	if err := s.CreateJob(t.Context(), &task, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	for alone, want := range map[bool]int{true: 1, false: 2} {
		n := 0
		for page, err := range restd.InPages(t.Context(), s, federation.JobQuery{IDs: []federation.JobID{array.ID}, Alone: alone}, restd.ByID) {
			if err != nil {
				t.Fatal(err)
			}
			n += len(page)
		}
		if n != want {
			t.Errorf("alone %v: %d jobs, want %d", alone, n, want)
		}
	}
}

// TestTasksInPages: the tasks of one array are listed in pages, in their order and each once, as jobs are.
func TestTasksInPages(t *testing.T) {
	const tasks = 5000
	store := apitest.NewStore()
	array := federation.Job{State: federation.Running, Spec: &sbatch.Spec{Array: fmt.Sprintf("%d-%d", tasks, tasks+9)}, Whole: &federation.ArrayWhole{Count: tasks + 10, Spread: true}}
	if err := store.CreateJob(t.Context(), &array, &sbatch.Payload{}); err != nil {
		t.Fatal(err)
	}
	var b journal.Batch
	for i := range tasks {
		b.Tasks = append(b.Tasks, &federation.Task{Job: array.ID, Index: i, State: federation.Cancelled})
	}
	if err := store.Commit(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	l := restd.Lister{Store: store, All: func() []*federation.Site { return nil }, Now: time.Now}
	n := 0
	for page, err := range l.Pages(t.Context(), l.View(), &restd.Filter{}, federation.JobQuery{}) {
		if err != nil || len(page) > 1000 {
			t.Fatalf("%d in one page, %v", len(page), err)
		}
		for i := range page {
			want := fmt.Sprintf("%d_%d", array.ID, n)
			if n == tasks {
				want = fmt.Sprintf("%d_[%d-%d]", array.ID, tasks, tasks+9)
			}
			if got := page[i].Name(); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
			n++
		}
	}
	if n != tasks+1 {
		t.Errorf("%d were listed", n)
	}
}
