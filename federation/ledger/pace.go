package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"fsub/accounting/ledger"
	"fsub/federation"
	"fsub/federation/driver"
)

// slurmrestd builds an answer whole in memory, some MB for each job, and goes on with it when nobody waits for it any more. So each question is to be answered
// with some hundreds of runs, and a site that did not answer is left alone for a while.
const (
	firstStep, leastStep, mostStep = 30 * time.Second, time.Second, time.Hour
	fewRuns, goodRuns, manyRuns    = 300, 500, 1000 // in one answer: more time is asked for, what is aimed at, less
	burst                          = 10 * manyRuns  // runs in one answer, if as many end as in the densest time of late
	mostMeasured                   = 50             // runs with their steps in one answer
	slow                           = 10 * time.Second
	slowStep                       = 10 * time.Minute // for which a site with few runs is asked at once, however slow it is: then it is slow with everything
	firstRest, longestRest         = 30 * time.Second, 15 * time.Minute
	mostTooLong                    = 3 // answers for the least time that were too long, one after the other: asking for less time would not help
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
	long  int       // answers for the least time that were too long, one after the other
	// A question about the time from hotFrom to hotTo failed. There, steps are hotStep, which grows slowly, whatever quiet time before it would suggest.
	hotFrom, hotTo time.Time
	hotStep        time.Duration
}

// answered adapts the step to an answer for a span of time.
func (p *pace) answered(from, end time.Time, runs int, took time.Duration) {
	span := end.Sub(from)
	p.rest, p.until, p.long = 0, time.Time{}, 0
	p.peak = max(0.9*p.peak, float64(runs)/max(span, leastStep).Seconds())
	hot := p.hot(from)
	more := runs < fewRuns && (took < slow || span < slowStep)
	switch {
	case runs > manyRuns:
		p.step = min(span/2, span*goodRuns/time.Duration(runs))
	case took > slow && runs >= fewRuns: // with fewer it is not their number
		p.step = span / 2
	case hot && more:
		p.step = p.hotStep + max(p.hotStep/4, leastStep)
	case hot:
		p.step = p.hotStep
	case more:
		p.step = max(p.step, min(2*p.step, 2*span)) // what was cut short at an end proves nothing of more
	}
	if densest := p.peak * p.step.Seconds(); densest > burst { // the peak of a quiet site is next to nothing: never divide by it
		p.step = time.Duration(burst / p.peak * float64(time.Second))
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
func (r *reader) each(ctx context.Context, c *Collector, from, until time.Time, may time.Duration, take func(end time.Time, runs []driver.SiteRun) error) (time.Time, error) {
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
		runs, err := r.Accounts.Accounts(ctx, from, end, false)
		took := c.Now().Sub(asked)
		r.took = took
		switch {
		case errors.Is(err, driver.ErrTooLong):
			again, err := r.tooLong(ctx, c, from, end)
			if err != nil {
				return from, err
			}
			if again {
				continue
			}
		case err != nil && (ctx.Err() != nil || errors.Is(err, federation.ErrInvalid)):
			return from, err
		case err != nil:
			r.pace.failed(from, end, c.Now())
			return from, err
		default:
			r.pace.answered(from, end, len(runs), took)
		}
		if err := take(end, runs); err != nil {
			return from, err
		}
		from = end
	}
	return from, nil
}

// tooLong has less time asked for, if it can be less: then it returns true. A second that is too long is left out; several of them are a failure of the site.
func (r *reader) tooLong(ctx context.Context, c *Collector, from, end time.Time) (again bool, err error) {
	span := end.Sub(from)
	if !r.pace.told {
		r.pace.told = true
		c.Logger.WarnContext(ctx, "an answer of a site's accounting was too long: less time is asked for", "site", r.Name, "from", from.UTC(), "span", span)
	}
	if r.pace.less(from, end); span > leastStep {
		return true, nil
	}
	if r.pace.long++; r.pace.long >= mostTooLong {
		r.pace.failed(from, end, c.Now())
		return false, fmt.Errorf("site %s: %w: its accounting gives too much even for a second", r.Name, federation.ErrUnavailable)
	}
	c.Logger.Error("runs that ended within a second are too many to be read: they are not booked", "site", r.Name, "from", from.UTC())
	return false, nil
}

// measure fills in what CPUs and GPUs were used by some of the runs of an answer. That takes their steps, which cost the site much: so it is asked for few
// runs at once, and not for those that ended too densely. If the site does not tell, they are booked without.
func (r *reader) measure(ctx context.Context, c *Collector, runs []driver.SiteRun, fresh []*ledger.Entry) {
	byID := make(map[ledger.ID]*ledger.Entry, len(fresh))
	for _, e := range fresh {
		byID[e.ID] = e
	}
	for some := range windows(runs, mostMeasured) {
		if !slices.ContainsFunc(some, func(run driver.SiteRun) bool { return byID[run.ID] != nil }) {
			continue
		}
		asked := c.Now()
		found, err := r.Accounts.Accounts(ctx, time.Unix(some[0].End, 0), time.Unix(some[len(some)-1].End, 0), true)
		if err != nil {
			c.Logger.Debug("what runs used is not read", "site", r.Name, "err", err)
			return
		}
		for i := range found {
			if e := byID[found[i].ID]; e != nil {
				e.CPUUsed, e.GPUUsed = found[i].CPUUsed, found[i].GPUUsed
				e.Fate = ledger.FateOf(e.State, int64(len(e.Group.GPU)), e.GPUUsed)
			}
		}
		c.Rest(ctx, c.Now().Sub(asked))
	}
}

// windows are the runs in the order of their ends, at most so many at once, and each with all that ended in the same second. More are left out.
func windows(runs []driver.SiteRun, most int) iter.Seq[[]driver.SiteRun] {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b driver.SiteRun) int { return cmp.Compare(a.End, b.End) })
	return func(yield func([]driver.SiteRun) bool) {
		first := 0
		for i := 0; i < len(runs); {
			next := i + 1
			for next < len(runs) && runs[next].End == runs[i].End {
				next++
			}
			if next-first > most {
				if i > first && !yield(runs[first:i]) {
					return
				}
				if first = i; next-i > most {
					first = next
				}
			}
			i = next
		}
		if first < len(runs) {
			yield(runs[first:])
		}
	}
}

// rest waits for as long as an answer took, so that a site is not busy with such questions for more than half of the time.
func rest(ctx context.Context, took time.Duration) {
	if took > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(min(took, slow)):
		}
	}
}
