package slurm

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"

	"fsub/federation"
)

// budget bounds the calls to a site. A quarter of it is for looks alone: however much users have done to jobs there, and however much of accounting is read, the
// site is seen, and does not count as one that does not answer.
type budget struct {
	all    *rate.Limiter
	others *rate.Limiter // of all calls but those of looks
}

func newBudget(perSecond float64, burst int) *budget {
	return &budget{all: rate.NewLimiter(rate.Limit(perSecond), burst), others: rate.NewLimiter(rate.Limit(perSecond)*3/4, max(burst*3/4, 1))}
}

// wait waits until one more call may be made. An error says that this would take longer than ctx lasts.
func (b *budget) wait(ctx context.Context) error {
	var err error
	if ctx.Value(lookKey{}) == nil {
		err = b.others.Wait(ctx)
	}
	if err == nil {
		err = b.all.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: waiting for the RPC budget of %g calls/s: %v", federation.ErrThrottled, float64(b.all.Limit()), err)
	}
	return nil
}

// used is the budget of calls, and how much of what may be called at once is used: 0 to 1.
func (b *budget) used() (perSecond, used float64) {
	return float64(b.all.Limit()), min(max(1-b.all.Tokens()/float64(b.all.Burst()), 0), 1)
}

type lookKey struct{}

// looking marks what is asked with ctx as part of a look at the site.
func looking(ctx context.Context) context.Context { return context.WithValue(ctx, lookKey{}, true) }
