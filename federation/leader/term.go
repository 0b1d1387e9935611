package leader

import (
	"sync/atomic"
	"time"
)

// Term is one daemon's time as the leader.
type Term struct {
	Epoch int64

	until atomic.Pointer[time.Time]
}

func newTerm(epoch int64, until time.Time) *Term {
	t := &Term{Epoch: epoch}
	t.trust(until)
	return t
}

// Under is the epoch; 0: the daemon shares its store with nobody, and the Term is nil.
func (t *Term) Under() int64 {
	if t == nil {
		return 0
	}
	return t.Epoch
}

// Until is when trust in the lease ends, by this machine's monotonic clock, unless it is renewed before: [Margin] before the lease is over at the earliest,
// since the time of the request counts, not that of its answer.
func (t *Term) Until() time.Time { return *t.until.Load() }

// Trusted reports whether the lease is surely held now. A nil Term is that of a daemon which shares its store with nobody: always.
func (t *Term) Trusted() bool { return t == nil || time.Now().Before(t.Until()) }

func (t *Term) trust(until time.Time) { t.until.Store(&until) }
