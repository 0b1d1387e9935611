package ledger_test

import (
	"context"
	"testing"

	"fsub/federation"
	"fsub/federation/ledger"
)

// readJobs counts the questions for jobs.
type readJobs struct {
	ledger.Store
	asked int
}

func (s *readJobs) Jobs(ctx context.Context, q federation.JobQuery) ([]federation.Job, error) {
	s.asked++
	return s.Store.Jobs(ctx, q)
}

// Where nothing was charged no job is asked for: a question for none is one for all, of which there may be a million.
func TestNothingWasCharged(t *testing.T) {
	f := newFixture(t)
	s := &readJobs{Store: f.store}
	c := f.books.Config
	c.Store = s
	books := ledger.New(c)
	if _, err := books.Charges(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.asked != 0 {
		t.Errorf("it asked for jobs %d times", s.asked)
	}
}
