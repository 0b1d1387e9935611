package slurm

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"

	"fsub/federation"
)

// budget bounds the calls to a site. A quarter of it is for looks alone, and another one for them and submissions: however much users have done to jobs there,
// and however much of accounting is read, the site is seen, so that it does not count as one that does not answer, and gets jobs.
type budget struct {
	levels [3]*rate.Limiter // of all calls, of those that are no looks, and of those that are no submissions either
}

// What a call is made for is its level: it waits for that limit and those before it.
const (
	forLooks = iota
	forSubmissions
	forTheRest
)

func newBudget(perSecond float64, burst int) *budget {
	b := new(budget)
	for i, quarters := range [...]int{4, 3, 2} {
		b.levels[i] = rate.NewLimiter(rate.Limit(perSecond)*rate.Limit(quarters)/4, max(burst*quarters/4, 1))
	}
	return b
}

type levelKey struct{}

// calling says what is asked with ctx for.
func calling(ctx context.Context, level int) context.Context {
	return context.WithValue(ctx, levelKey{}, level)
}

// wait waits until one more call may be made. An error says that this would take longer than ctx lasts.
func (b *budget) wait(ctx context.Context) error {
	level, ok := ctx.Value(levelKey{}).(int)
	if !ok {
		level = forTheRest
	}
	for ; level >= 0; level-- {
		if err := b.levels[level].Wait(ctx); err != nil {
			return fmt.Errorf("%w: waiting for the RPC budget of %g calls/s: %v", federation.ErrThrottled, float64(b.levels[forLooks].Limit()), err)
		}
	}
	return nil
}

// used is the budget of calls, and how much of what may be called at once is used: 0 to 1.
func (b *budget) used() (perSecond, used float64) {
	all := b.levels[forLooks]
	return float64(all.Limit()), min(max(1-all.Tokens()/float64(all.Burst()), 0), 1)
}
