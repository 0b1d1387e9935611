package leader

import (
	"errors"
	"time"
)

// errSlow: the database takes longer to record the lease than the longest lease allows.
var errSlow = errors.New("the database is too slow for any daemon to lead")

// pace is how long the database takes to record the lease, and so how long the lease has to be. It is that of one goroutine at a time.
type pace struct {
	slow time.Duration // the longest of late, each less with each further one; 0: it is fast
}

// fast is what a lease of [TTL] has room for: to be taken, to last until it is renewed, and to be renewed.
const fast = Renew / 2

// lease is for how long the lease is to be asked for.
func (p *pace) lease(ttl time.Duration) time.Duration {
	if p.slow < fast {
		return ttl
	}
	return min(ttl+3*p.slow, max(ttl, Longest))
}

// note takes in how long it took last. A database that is slow once is expected to be slow again for some time.
func (p *pace) note(took time.Duration) {
	if p.slow = min(max(took, p.slow*4/5), Longest); p.slow < fast {
		p.slow = 0
	}
}

// trusted is for how long a lease is trusted of the time for which it was asked. The margin grows with it, since it has room for clocks of unequal rates.
func (e *Elector) trusted(ttl time.Duration) time.Duration {
	return ttl - time.Duration(float64(e.Margin)*float64(ttl)/float64(e.TTL))
}

// took notes how long the database took, and says so when it becomes slow, and when that is over.
func (e *Elector) took(d time.Duration) {
	was := e.pace.slow
	e.pace.note(d)
	switch is := e.pace.slow; {
	case was == 0 && is > 0:
		e.Log.Warn("the database is slow: leases are longer, so that a daemon which is frozen or cut off is followed later", "a_commit_took", d.Round(100*time.Millisecond),
			"lease", e.pace.lease(e.TTL).Round(100*time.Millisecond))
	case was > 0 && is == 0:
		e.Log.Info("the database is fast again: leases are as short as before", "lease", e.TTL)
	}
}
