package cloud

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// offers is what can be rented, as it was seen last.
type offers struct {
	*base
	starts    *starts
	pools     *pools
	scheduler *scheduler
	asked     chan struct{} // closed when the cloud was asked once
	err       error         // of the last look
}

func newOffers(b *base, st *starts, p *pools, s *scheduler) *offers {
	return &offers{base: b, starts: st, pools: p, scheduler: s, asked: make(chan struct{}), err: errNotLoaded}
}

// follow asks again and again what can be rented.
func (of *offers) follow(ctx context.Context) {
	if !of.starts.rested(ctx) {
		return
	}
	answered := sync.OnceFunc(func() { close(of.asked) })
	logged := attempt{what: askOffers}
	for wait := time.Second; ; {
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := of.cfg.Provider.Offerings(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		logged.note(of.log, err)
		next := of.t.Offers
		of.mu.Lock()
		of.access.note(askOffers, err)
		if err != nil {
			of.err = err
			next = max(wait, provider.AsError(err).After)
			wait = min(2*wait, of.t.Offers)
		} else {
			wait, of.err, of.pools.known = time.Second, nil, true
			for _, p := range of.pools.all {
				p.offer(list)
				p.wake()
			}
			of.scheduler.schedule()
		}
		of.news.nodes()
		of.mu.Unlock()
		answered()
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-of.access.again:
			t.Stop()
			wait = time.Second
		case <-t.C:
		}
	}
}

// unknown is why it is not known what can be rented: ErrDenied, or ErrNotSent.
func (of *offers) unknown() error {
	if errors.Is(of.err, federation.ErrDenied) {
		return of.err
	}
	return fmt.Errorf("%w: %w", of.err, federation.ErrNotSent)
}
