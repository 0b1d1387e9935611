package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
)

// call is something that a site will be asked after the round's commit. kind is an empty value of the result's
// type, for the case that the call itself breaks.
type call struct {
	site   *site
	kind   any
	before func(ctx context.Context) error // what it needs, if anything: it holds up no other call, and may take long
	run    func(ctx context.Context) any
	limit  time.Duration // of run; 0: Timing.Call
	user   uint32        // whose job it is about, if any
}

// ready does what comes before the call; failed is the result if that fails.
func (k call) ready(ctx context.Context) (failed any) {
	if k.before == nil {
		return nil
	}
	if err := k.before(ctx); err != nil {
		return withError(k.kind, err)
	}
	return nil
}

// result is what a call came back with.
type result struct {
	site  *site
	value any // one of the types below
}

type (
	observed struct {
		obs *federation.Observation
		err error
	}
	polled struct {
		report federation.JobsReport
		err    error
	}
	submitted struct {
		job     federation.JobID
		attempt int
		receipt federation.Receipt
		err     error
	}
	lookedUp struct {
		job     federation.JobID
		attempt int
		found   federation.SiteJob
		err     error
		confirm bool // asked after the site had shown the attempt as pending again
	}
	// collected is the end of a job's results being brought home.
	collected struct {
		job     federation.JobID
		attempt int
		notes   []string
		bytes   int64
		kept    *egress.Kept // what it has saved
		err     error
	}
	// saved is what the run of an attempt has saved so far.
	saved struct {
		job     federation.JobID
		attempt int
		kept    *egress.Kept
		err     error
	}
	// acted is the end of a cancel, signal, hold or release.
	acted struct {
		job    federation.JobID
		what   string
		orphan int                 // number of the attempt whose copy was cancelled
		over   time.Time           // when that had ended by the site's own word; zero: it had not
		copy   *federation.SiteJob // for an orphan: what the site showed
		gone   bool                // for an orphan: the store has no such job
		err    error
	}
)

var errPanic = errors.New("defect in the driver")

// calls are what the round asks sites after its commit, and what has come back.
type calls struct {
	inline  bool // every call is made at once, one after another
	limit   time.Duration
	log     *slog.Logger
	metrics *metrics
	owner   func(federation.JobID) uint32
	sites   *roster
	decided []call
	results chan result
	back    []result // for the next round

	begun context.Context // of the calls that are under way; nil: none was made
	end   context.CancelFunc
	under sync.WaitGroup
}

func newCalls(inline bool, limit time.Duration, log *slog.Logger, m *metrics, sites *roster, owner func(federation.JobID) uint32) *calls {
	return &calls{inline: inline, limit: limit, log: log, metrics: m, sites: sites, owner: owner, results: make(chan result, 1024)}
}

func (cs *calls) add(s *site, kind any, run func(ctx context.Context) any) {
	k := call{site: s, kind: kind, run: run}
	if id := jobOf(kind); id != 0 {
		k.user = cs.owner(id)
	}
	cs.decided = append(cs.decided, k)
}

// act asks the site of a live attempt for one of the simple actions.
func (cs *calls) act(j *job, what string, do func(federation.Driver, context.Context, federation.JobRef) error) {
	if !j.live() || cs.sites.byName[j.att.Site] == nil || j.in != nil { // the script of a pack is told (packs.order)
		return
	}
	id, ref, s := j.ID, j.Ref(j.att), cs.sites.byName[j.att.Site]
	d := s.driver
	cs.add(s, acted{job: id, what: what}, func(ctx context.Context) any {
		return acted{job: id, what: what, err: do(d, ctx, ref)}
	})
}

// make makes the calls that the round has decided, now that their intents are durable.
func (cs *calls) make(ctx context.Context) {
	decided := cs.decided
	cs.decided = nil
	if cs.begun == nil {
		cs.begun, cs.end = context.WithCancel(ctx)
	}
	ctx = cs.begun
	for _, k := range decided {
		if cs.inline {
			value := k.ready(ctx)
			if value == nil {
				value = k.run(ctx)
			}
			cs.back = append(cs.back, result{k.site, value})
			continue
		}
		cs.under.Go(func() {
			r := result{site: k.site, value: cs.run(ctx, k)}
			select {
			case cs.results <- r:
			case <-ctx.Done():
			}
		})
	}
}

// abandon ends the calls that are under way, and forgets them with those that were to be made.
func (cs *calls) abandon() {
	if cs.begun != nil {
		cs.end()
		cs.under.Wait()
		cs.begun = nil
	}
	cs.take()
	cs.decided = nil
}

// run makes one call, within the time that a call may take. Submissions share a few slots of their site, so that a
// burst does not fall on its controller all at once; looks go first. What else users ask about jobs has slots that they share.
// Look-ups are not bounded here: a driver that is asked for many makes them together.
func (cs *calls) run(ctx context.Context, k call) (value any) {
	defer func() {
		if p := recover(); p != nil {
			cs.log.Error("driver failed", "site", k.site.Name, "err", p, "stack", string(debug.Stack()))
			value = withError(k.kind, fmt.Errorf("%w: %w: %v", federation.ErrUnavailable, errPanic, p))
		}
	}()
	if failed := k.ready(ctx); failed != nil {
		return failed
	}
	switch k.kind.(type) {
	case submitted:
		select {
		case k.site.slots <- struct{}{}:
			defer func() { <-k.site.slots }()
		case <-ctx.Done():
			return withError(k.kind, fmt.Errorf("%w: the daemon stops", federation.ErrNotSent))
		}
	case acted, answered:
		free, err := k.site.acts.Take(ctx, k.user)
		if err != nil {
			return withError(k.kind, fmt.Errorf("%w: %v", federation.ErrThrottled, err))
		}
		defer free()
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(k.limit, cs.limit))
	defer cancel()
	done := cs.metrics.call(k.site.Name, k.kind)
	defer done()
	return k.run(ctx)
}

// withError returns the result kind with err as its error.
func withError(kind any, err error) any {
	switch k := kind.(type) {
	case observed:
		k.err = err
		return k
	case polled:
		k.err = err
		return k
	case submitted:
		k.err = err
		return k
	case lookedUp:
		k.err = err
		return k
	case collected:
		k.err = err
		return k
	case saved:
		k.err = err
		return k
	case used:
		k.err = err
		return k
	case acted:
		k.err = err
		return k
	case answered:
		k.err = err
		return k
	case nodesSet:
		k.err = err
		return k
	case packsRead:
		k.err = err
		return k
	case packTold:
		k.err = err
		return k
	case ranked:
		k.err = err
		return k
	case promiseKept:
		k.err = err
		return k
	case found:
		k.err = err
		return k
	}
	panic(fmt.Sprintf("no such call: %T", kind))
}

// take returns all that has come back since the last round.
func (cs *calls) take() []result {
	back := cs.back
	cs.back = nil
	for {
		select {
		case r := <-cs.results:
			back = append(back, r)
		default:
			return back
		}
	}
}

// takeResults takes in everything that has come back since the last round.
func (c *Controller) takeResults() {
	for _, r := range c.calls.take() {
		subject{jobOf(r.value), r.site.Name}.do(func() { c.takeResult(r) })
	}
}

func (c *Controller) takeResult(r result) {
	c.watch.noteCall(r.site, r.value)
	switch v := r.value.(type) {
	case observed:
		c.watch.takeObserved(r.site, v)
	case polled:
		c.watch.takePolled(r.site, v)
	case submitted:
		c.attempts.takeSubmitted(r.site, v)
	case lookedUp:
		c.repairs.takeLookedUp(r.site, v)
	case collected:
		if j, ended := c.stageOut.take(r.site, v); ended != nil {
			c.reports.endedAtSite(r.site, j, *ended)
		}
	case saved:
		c.copies.take(v)
	case used:
		c.idles.take(r.site, v)
	case beaten:
		c.heartbeats.take(r.site, v)
	case acted:
		c.orphans.take(r.site, v)
		c.requests.takeActed(r.site, v)
	case answered:
		c.requests.takeAnswered(r.site, v)
	case nodesSet:
		c.nodes.takeSet(r.site, v)
	case packsRead:
		c.packs.takeRead(r.site, v)
	case packTold:
		c.packs.takeTold(r.site, v)
	case ranked:
		c.order.take(r.site, v)
	case promiseKept:
		c.promises.take(r.site, v)
	case found:
		c.comparing.take(r.site, v, c.loader.attach)
	}
}

// jobOf is the job that a call is about; 0: none.
func jobOf(kind any) federation.JobID {
	switch k := kind.(type) {
	case submitted:
		return k.job
	case lookedUp:
		return k.job
	case collected:
		return k.job
	case saved:
		return k.job
	case acted:
		return k.job
	case answered:
		return k.job
	case promiseKept:
		return k.of.Of()
	case found:
		return k.job
	}
	return 0
}
