package store_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"fsub/federation"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Suite{Open: opener(false)}.Run(t)
}

func TestConformanceVolatile(t *testing.T) {
	storetest.Suite{Open: opener(true)}.Run(t)
}

func opener(volatile bool) func(string, federation.JobID, federation.JobID) (storetest.Store, error) {
	return func(dir string, first, last federation.JobID) (storetest.Store, error) {
		return store.Open(context.Background(), store.Config{Path: filepath.Join(dir, "fed.db"), FirstID: first, LastID: last, Volatile: volatile})
	}
}

// TestVirtualTime: simulations open a store inside a bubble, whose goroutines must all end with Close.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, store.Config{Volatile: true, Path: filepath.Join(t.TempDir(), "fed.db")})
		time.Sleep(time.Hour)
		j := &federation.Job{}
		if err := s.CreateJob(ctx, j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		if jobs, err := s.Jobs(ctx, federation.JobQuery{}); err != nil || len(jobs) != 1 || !jobs[0].Submit.Equal(time.Now()) {
			t.Errorf("jobs are %+v: %v", jobs, err)
		}
	})
}
