package predict

import (
	"context"
	"time"

	"fsub/federation"
)

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

// PastWait is how long a job waited at a site, for later forecasts.
type PastWait struct {
	Site    federation.SiteName // "": of a job that was told of its wait; see [Told]
	Since   time.Time
	Seconds float64
	Traits  []uint32 // of the job, and of the queue when it came; see package predict
}

// WaitStore keeps waits.
type WaitStore interface {
	// PastWaits returns the newest ones of each site, oldest first, and forgets what is older than these.
	PastWaits(ctx context.Context, ofEach int) ([]PastWait, error)
}
