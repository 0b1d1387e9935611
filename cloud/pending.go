package cloud

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/reasons"
)

// The waits between two questions after a request that the cloud has queued, and before one that could not be withdrawn is tried again.
const (
	pendingAgain  = 15 * time.Second // unless it says itself
	withdrawAgain = 10 * time.Second
)

// pending is the cloud's word that it has queued a request; nil: err is none.
func pending(err error) *provider.Error {
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.KindPending {
		return e
	}
	return nil
}

// queued takes in that the cloud has queued a gang's request. It returns after how long to ask again; 0: it is to be withdrawn, since it has waited for too long or
// nobody waits for its machines any more.
func (rt *renter) queued(g *gang, e *provider.Error) (again time.Duration) {
	rt.cool.answered(g)
	if left := g.Expires.Add(-rt.t.bootWithin(&g.Offering)); !rt.now().Before(left) || !g.Warm && !slices.ContainsFunc(g.machines, func(m *machine) bool { return len(m.runs) > 0 || m.keeper != nil }) {
		return 0
	}
	if e.Resume != g.Resume {
		g.Resume = e.Resume
		rt.put(g)
	}
	g.tellJobs(reasons.CloudQueue, e.Text)
	return cmp.Or(e.After, pendingAgain)
}

// withdraw takes a gang's request back, and gives the gang up. If its machines were made at the last moment, the next listing finds them. false: it is to be tried again.
func (rt *renter) withdraw(ctx context.Context, g *gang) bool {
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := rt.cfg.Provider.Withdraw(call, g.Token); err != nil {
		rt.log.Warn("withdraw a request for machines", "pool", g.Pool, "gang", g.Token, "err", err)
		return false
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	g.calling = false
	rt.sweeps.lookSoon()
	rt.gangFailed(g, "the cloud had not answered its request in time, or nobody needed it any more", false)
	rt.scheduler.schedule()
	return true
}
