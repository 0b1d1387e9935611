package federation

import (
	"context"
	"time"
)

// Expected is how long a job is expected to run on nodes of speed 1, from what jobs like it did before. It is not changed once it is made.
type Expected struct {
	P50  time.Duration `json:"p50"`           // half of such jobs run no longer
	P90  time.Duration `json:"p90"`           // nine in ten run no longer
	Runs int           `json:"runs"`          // how many runs of the nearest kind it stands on
	Of   string        `json:"of"`            // that kind: "of that name and size"
	Cut  int           `json:"cut,omitempty"` // how many of the runs were cut short: those say only that one takes longer
}

// RunLength is how long a run lasted, for later forecasts.
type RunLength struct {
	Start   time.Time
	Seconds float64 // on nodes of speed 1
	Ending  RunEnding
	Groups  []uint64 // of jobs that are alike; see package predict
}

// RunEnding is how a run ended, as far as it matters to how long others take.
type RunEnding int

// Endings of runs. They are stored.
const (
	RanSomehow  RunEnding = iota // an earlier version has not noted it
	RanToItsEnd                  // it took so long
	RanUntilCut                  // it would have taken longer
)

// RunStore keeps run lengths.
type RunStore interface {
	// RunLengths returns the newest ones, oldest first, and forgets what is older than these.
	RunLengths(ctx context.Context, limit int) ([]RunLength, error)
}
