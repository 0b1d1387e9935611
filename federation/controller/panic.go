package controller

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"fsub/federation"
)

// A panic in a round, and a record that the store can never take, are defects that one job or one site has brought to light. The daemon says so,
// puts that one aside, and goes on as a new daemon would: it forgets everything since the last commit and reads the store again. What is aside stays in
// the store as it was, and whatever its site has of it goes on; after asideFor it is taken up again.

// Bounds of panics within asideFor. Beyond them the daemon stops: what it would go on with is not to be relied on.
const (
	maxPanics     = 5
	maxPanicsOver = 2 // without a job or site that they happened over
)

// subject is the job or site that a part of a round is about.
type subject struct {
	job  federation.JobID
	site federation.SiteName
}

// panicOver is a panic that happened over a subject.
type panicOver struct {
	subject
	value any
	stack []byte
}

func (p *panicOver) Error() string {
	return fmt.Sprintf("%v, over job %v, site %q\n%s", p.value, p.job, p.site, p.stack)
}

// do does something about the subject. If it panics, the panic says so; of subjects within each other the innermost counts.
func (s subject) do(work func()) {
	defer func() {
		if p := recover(); p != nil {
			panic(s.blame(p))
		}
	}()
	work()
}

func (s subject) blame(p any) *panicOver {
	if inner, ok := p.(*panicOver); ok {
		return inner
	}
	return &panicOver{s, p, debug.Stack()}
}

// aside is what is left out for a while.
type aside struct {
	jobs    map[federation.JobID]time.Time // with the jobs of their arrays and components
	sites   map[federation.SiteName]error  // what they are shown with
	until   time.Time                      // when it is taken up again; zero: nothing is aside
	panics  []time.Time                    // the last ones
	vague   []time.Time                    // those of them that happened over nothing that is known
	told    []federation.Event             // what jobs' histories are to say of it
	log     *slog.Logger
	metrics *metrics
	stale   bool // the controller is to be reloaded before all else
}

func newAside(log *slog.Logger, m *metrics) *aside {
	return &aside{log: log, metrics: m, jobs: map[federation.JobID]time.Time{}, sites: map[federation.SiteName]error{}}
}

// has reports whether a job is left out.
func (a *aside) has(id federation.JobID) bool {
	_, ok := a.jobs[id]
	return ok
}

// leavesOut reports whether a job of the store, or the array or job that it is a part of, is left out, and has it left out then.
func (a *aside) leavesOut(j *federation.Job) bool {
	out := a.has(j.ID) || j.Part != nil && a.has(j.Part.Array) || j.Component != nil && a.has(j.Component.Leader)
	if out {
		a.jobs[j.ID] = a.until
	}
	return out
}

// passed forgets what was put aside long enough ago, and reports whether there was anything.
func (a *aside) passed(now time.Time) bool {
	if a.until.IsZero() || now.Before(a.until) {
		return false
	}
	clear(a.jobs)
	clear(a.sites)
	a.until = time.Time{}
	return true
}

// panicked counts a panic. Its error says that there were too many.
func (a *aside) panicked(now time.Time, at subject) error {
	a.panics = append(since(a.panics, now.Add(-asideFor)), now)
	a.vague = since(a.vague, now.Add(-asideFor))
	if at == (subject{}) {
		a.vague = append(a.vague, now)
	}
	if len(a.panics) > maxPanics || len(a.vague) >= maxPanicsOver {
		return fmt.Errorf("%d panics in %v: see the log for their stacks", len(a.panics), asideFor)
	}
	return nil
}

func since(times []time.Time, first time.Time) (kept []time.Time) {
	for _, t := range times {
		if t.After(first) {
			kept = append(kept, t)
		}
	}
	return kept
}

// put leaves a job out, with root, the job that it is written with.
func (a *aside) put(id, root federation.JobID, why error, now time.Time) {
	a.until = now.Add(asideFor)
	a.jobs[root], a.jobs[id] = a.until, a.until
	a.metrics.asides.Inc()
	a.log.Error("job put aside: the daemon cannot go on with it", "job", root, "for", asideFor, "err", why)
	a.stale = true
	a.told = append(a.told, federation.Event{Job: root, At: now.UTC(),
		Text: fmt.Sprintf("put aside for %v, a defect of fed that stands in its log: %v", asideFor, why)})
}

// guarded does a round, or what else may panic, and puts aside what a panic happened over.
func (c *Controller) guarded(do func()) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		at := subject{}.blame(p)
		text := fmt.Errorf("panic: %v", at.value)
		c.log.Error("the controller panicked", "job", at.job, "site", at.site, "err", at.value, "stack", string(at.stack))
		c.metrics.panics.Inc()
		if err = c.asides.panicked(c.now(), at.subject); err != nil {
			err = fmt.Errorf("controller: %w: %w", text, err)
			return
		}
		switch {
		case at.job != 0:
			c.asides.put(at.job, c.jobs.rootOf(at.job), text, c.now())
		case at.site != "":
			c.asides.until = c.now().Add(asideFor)
			c.asides.sites[at.site] = fmt.Errorf("%w: a defect of fed that stands in its log: %w", federation.ErrUnavailable, text)
		}
		c.asides.stale = true
	}()
	do()
	return nil
}

// reload forgets everything and reads the store again, as a new daemon would. What sites are being asked ends first: what came of it is looked up.
func (c *Controller) reload(ctx context.Context) error {
	c.calls.abandon()
	c.parts = newParts(&c.cfg, c.View, c.asides, c.metrics)
	if err := c.Load(ctx, nil); err != nil {
		return err
	}
	for _, e := range c.asides.told {
		c.batch.event(e)
	}
	c.asides.told = nil
	return nil
}

// refresh reloads if that is to be.
func (c *Controller) refresh(ctx context.Context) error {
	if c.asides.passed(c.now()) {
		c.log.Info("what was put aside is taken up again")
		c.asides.stale = true
	}
	if !c.asides.stale {
		return nil
	}
	c.asides.stale = false
	return c.guarded(func() {
		if err := c.reload(ctx); err != nil {
			c.log.Error("read the store again", "err", err)
			c.asides.stale = true
		}
	})
}
