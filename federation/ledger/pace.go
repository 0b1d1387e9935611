package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"fsub/federation"
)

// slurmrestd builds an answer whole in memory, some MB for each job, and goes on with it when nobody waits for it any more. So each question is to be answered
// with some hundreds of runs, and a site that did not answer is left alone for a while.
const (
	firstStep, leastStep, mostStep = 30 * time.Second, time.Second, time.Hour
	fewRuns, goodRuns, manyRuns    = 300, 500, 1000 // in one answer: more time is asked for, what is aimed at, less
	burst                          = 10 * manyRuns  // runs in one answer, if as many end as in the densest time of late
	quick, slow                    = 3 * time.Second, 10 * time.Second
	firstRest, longestRest         = 30 * time.Second, 15 * time.Minute
)

// errResting: a site is left alone for a while, since it did not answer.
var errResting = errors.New("its accounting did not answer lately, and is left alone for a while")

// pace is how much time a site is asked for at once, and when it is asked next.
type pace struct {
	step  time.Duration
	peak  float64 // runs a second in the densest answer of late
	rest  time.Duration
	until time.Time // the site is left alone
	told  bool      // that an answer was too long
	// A question about the time from hotFrom to hotTo failed. There, steps are hotStep, which grows slowly, whatever quiet time before it would suggest.
	hotFrom, hotTo time.Time
	hotStep        time.Duration
}

// answered adapts the step to an answer for a span of time.
func (p *pace) answered(from, end time.Time, runs int, took time.Duration) {
	span := end.Sub(from)
	p.rest, p.until = 0, time.Time{}
	p.peak = max(0.9*p.peak, float64(runs)/max(span, leastStep).Seconds())
	hot := p.hot(from)
	switch {
	case runs > manyRuns:
		p.step = min(span/2, span*goodRuns/time.Duration(runs))
	case took > slow:
		p.step = span / 2
	case hot && runs < fewRuns && took < quick:
		p.step = p.hotStep + max(p.hotStep/4, leastStep)
	case hot:
		p.step = p.hotStep
	case runs < fewRuns && took < quick:
		p.step = max(p.step, min(2*p.step, 2*span)) // what was cut short at an end proves nothing of more
	}
	if p.peak > 0 {
		p.step = min(p.step, time.Duration(burst/p.peak*float64(time.Second)))
	}
	p.step = whole(p.step)
	if hot {
		p.hotStep = p.step
	}
}

func (p *pace) hot(t time.Time) bool { return !t.Before(p.hotFrom) && t.Before(p.hotTo) }

// end is how far the next question goes.
func (p *pace) end(from, until time.Time) time.Time {
	step := p.step
	if p.hot(from) {
		step = p.hotStep
	}
	end := from.Add(step)
	if from.Before(p.hotFrom) && end.After(p.hotFrom) {
		end = p.hotFrom
	}
	if end.After(until) {
		end = until
	}
	return end
}

// less has less time asked for from there on.
func (p *pace) less(from, end time.Time) {
	p.step = whole(min(p.step, end.Sub(from)/2))
	if !p.hot(from) || end.After(p.hotTo) {
		p.hotTo = end
	}
	p.hotFrom, p.hotStep = from, p.step
}

// failed has the site left alone, each time for twice as long, and asked for less.
func (p *pace) failed(from, end, now time.Time) {
	p.less(from, end)
	p.rest = min(max(2*p.rest, firstRest), longestRest)
	p.until = now.Add(p.rest*3/4 + rand.N(p.rest/4))
}

func whole(d time.Duration) time.Duration {
	return min(max(d.Truncate(time.Second), leastStep), mostStep)
}

// overlap is how much of what was read before is read again each time.
func (p *pace) overlap() time.Duration {
	if p.peak*skew.Seconds() <= manyRuns {
		return skew
	}
	return max(time.Duration(manyRuns/p.peak*float64(time.Second)), 30*time.Second)
}

// each asks a site for a span of time, one question after the other, and hands over each answer with the time that it is for. The caller holds r.mu. It stops
// without an error, and says how far it came, when it has used up the time that it may take; 0: any.
func (r *reader) each(ctx context.Context, c *Collector, from, until time.Time, may time.Duration, take func(end time.Time, runs []federation.SiteRun) error) (time.Time, error) {
	begun := c.Now()
	for from.Before(until) {
		asked := c.Now()
		if asked.Before(r.pace.until) {
			return from, fmt.Errorf("site %s: %w: %w, until %s", r.Name, federation.ErrUnavailable, errResting, r.pace.until.UTC().Format(time.RFC3339))
		}
		if may > 0 && asked.Sub(begun) > may {
			return from, nil
		}
		end := r.pace.end(from, until)
		span := end.Sub(from)
		runs, err := r.Accounts.Accounts(ctx, from, end)
		switch {
		case errors.Is(err, federation.ErrTooLong):
			level := slog.LevelDebug
			if !r.pace.told || span <= leastStep {
				level = slog.LevelWarn
			}
			r.pace.told = true
			c.Logger.Log(ctx, level, "an answer of a site's accounting was too long: less time is asked for", "site", r.Name, "from", from.UTC(), "span", span)
			if r.pace.less(from, end); span > leastStep {
				continue
			}
			c.Logger.Error("runs that ended within a second are too many to be read: they are not booked", "site", r.Name, "from", from.UTC())
		case err != nil && (ctx.Err() != nil || errors.Is(err, federation.ErrInvalid)):
			return from, err
		case err != nil:
			r.pace.failed(from, end, c.Now())
			return from, err
		default:
			r.pace.answered(from, end, len(runs), c.Now().Sub(asked))
		}
		if err := take(end, runs); err != nil {
			return from, err
		}
		from = end
	}
	return from, nil
}
