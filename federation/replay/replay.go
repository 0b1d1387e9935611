package replay

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
)

// run is a replay under way.
type run struct {
	cfg    Config
	world  *place.World
	fleet  *fleet
	know   *forecasts
	order  *ordering
	local  *local // nil: there are no local jobs
	now    time.Time
	next   int // of the jobs that come
	ends   ends
	index  map[federation.JobID]int
	wait   map[federation.JobID]bool
	starts map[federation.JobID][]start // that the plan under way has made
	res    Result
	ended  int
	gpus   int // that jobs wait for
	cpus   int
	sample time.Time
	live   int
	day    time.Time

	limited limited
	moving  moving
}

// start is what a job holds at a site.
type start struct {
	site federation.SiteName
	held federation.RunningJob
}

// Run replays.
func Run(cfg Config) (*Result, error) {
	if len(cfg.Jobs) == 0 {
		return nil, ErrNoJobs
	}
	if cfg.Gap <= 0 {
		cfg.Gap = time.Second
	}
	r, err := newRun(cfg)
	if err != nil {
		return nil, err
	}
	r.goOn()
	return &r.res, nil
}

func newRun(cfg Config) (*run, error) {
	p := cfg.Policy
	if len(cfg.Local) == 0 {
		p.Backlog = -1
	}
	p.MaxLook, p.MaxBind = max(p.MaxLook, len(cfg.Jobs)), max(p.MaxBind, len(cfg.Jobs))
	r := &run{cfg: cfg, world: place.NewWorld(p, cfg.Seed), index: map[federation.JobID]int{}, wait: map[federation.JobID]bool{}, starts: map[federation.JobID][]start{},
		moving: moving{left: map[int]time.Duration{}, runs: map[federation.JobID]*federation.Job{}, past: map[federation.JobID]*decision.Moved{}}}
	r.now = cfg.At
	if r.now.IsZero() {
		r.now = cfg.Jobs[0].Submit
		if len(cfg.Local) > 0 {
			r.now = minTime(r.now, cfg.Local[0].Submit)
		}
	}
	r.fleet = newFleet(cfg.Sites, r.now)
	if !cfg.Moves.Off() {
		r.fleet.ours = r.moving.runs
	}
	r.know = newForecasts(&cfg)
	for _, s := range r.fleet.sites {
		for _, h := range s.running {
			if at := h.endsAt(cfg.Ends[s.site.Name]); !at.IsZero() {
				heap.Push(&r.ends, end{at, atTheBeginning, []start{{s.site.Name, h.RunningJob}}})
			}
		}
	}
	var err error
	if r.order, err = newOrdering(&cfg); err != nil {
		return nil, err
	}
	r.world.SetPriority(r.order.priority)
	r.world.OnStart(func(j *federation.Job, site federation.SiteName, held federation.RunningJob) {
		r.starts[j.ID] = append(r.starts[j.ID], start{site, held})
	})
	r.res = Result{Jobs: make([]Outcome, len(cfg.Jobs)), Begin: r.now, End: r.now}
	r.res.GPUs, r.res.CPUs = r.fleet.size()
	for i, j := range cfg.Jobs {
		if _, twice := r.index[j.ID]; twice {
			return nil, fmt.Errorf("job %d is there twice", j.ID)
		}
		if i > 0 && cfg.Order != Given && j.Submit.Before(cfg.Jobs[i-1].Submit) {
			return nil, fmt.Errorf("job %d comes before the job that it stands behind", j.ID)
		}
		r.index[j.ID] = i
		r.res.Jobs[i] = Outcome{Job: j.Job, Submit: j.Submit}
	}
	if len(cfg.Local) > 0 {
		r.local, err = newLocal(r)
	}
	return r, err
}

// goOn goes from one time at which something happens to the next, and plans then.
func (r *run) goOn() {
	for {
		at, ok := r.nextTime()
		select {
		case <-r.cfg.Done:
			return
		default:
		}
		if !ok || !r.cfg.Until.IsZero() && at.After(r.cfg.Until) {
			return
		}
		r.pass(at)
		changed := r.endAll()
		if r.local != nil {
			changed = r.local.submit() || changed
			r.local.schedule()
		}
		changed = r.reconsider(changed) || changed
		changed = r.submitAll() || changed
		r.takeSample()
		if changed {
			r.plan()
		}
		r.makeRoom()
	}
}

// pass lets time pass. Utilisation is that of the time in which jobs come.
func (r *run) pass(at time.Time) {
	if until := minTime(at, r.cfg.Jobs[len(r.cfg.Jobs)-1].Submit); until.After(r.now) {
		d := until.Sub(r.now).Hours()
		r.res.GPUHours += d * float64(r.fleet.used.gpus)
		r.res.CPUHours += d * float64(r.fleet.used.cpus)
		r.res.Hours += d
	}
	r.now = at
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// nextTime is when something happens next. What happens within a gap happens together, at its end.
func (r *run) nextTime() (at time.Time, ok bool) {
	if r.next < len(r.cfg.Jobs) {
		at, ok = r.cfg.Jobs[r.next].Submit, true
	}
	if l := r.local; l != nil && l.next < len(r.cfg.Local) && (!ok || r.cfg.Local[l.next].Submit.Before(at)) {
		at, ok = r.cfg.Local[l.next].Submit, true
	}
	if len(r.ends) > 0 && (!ok || r.ends[0].at.Before(at)) {
		at, ok = r.ends[0].at, true
	}
	if over, is := r.fleet.overdue(); is && len(r.wait) > 0 && ok && over.Before(at) {
		at = over
	}
	if day := dayOf(r.now).Add(24 * time.Hour); len(r.limited.kept) > 0 && !r.cfg.Until.IsZero() && (!ok || day.Before(at)) {
		at, ok = day, true // budgets begin again
	}
	if ok && at.Before(r.now) {
		at = r.now
	}
	if first := r.now.Add(r.cfg.Gap); ok && r.res.Plans > 0 && at.Before(first) {
		at = first
	}
	return at, ok
}

// endAll ends the runs whose time has come.
func (r *run) endAll() (changed bool) {
	for len(r.ends) > 0 && !r.ends[0].at.After(r.now) {
		e := heap.Pop(&r.ends).(end)
		for _, s := range e.held {
			r.fleet.free(s, r.now)
		}
		changed = true
		if e.job == atTheBeginning {
			r.endedBefore(&e)
			continue
		}
		r.live--
		if e.job >= len(r.cfg.Jobs) { // a local one
			continue
		}
		r.ended++
		o := &r.res.Jobs[e.job]
		if r.cfg.Limits != nil {
			r.cfg.Limits.End(e.at, o.Job.ID)
		}
		r.released(o)
		delete(r.moving.runs, o.Job.ID)
		r.know.ended(&r.cfg.Jobs[e.job], o)
		r.order.ended(o)
		if e.at.After(r.res.End) {
			r.res.End = e.at
		}
		if r.cfg.Progress != nil && r.ended%1000 == 0 {
			r.cfg.Progress(r.now, r.ended)
		}
	}
	r.fleet.passOverdue(r.now)
	return changed
}

// submitAll has the jobs come whose time has.
func (r *run) submitAll() (changed bool) {
	for r.next < len(r.cfg.Jobs) && !r.cfg.Jobs[r.next].Submit.After(r.now) {
		j := &r.cfg.Jobs[r.next]
		r.next++
		if r.cfg.Tried != nil && (r.next-1)%max(r.cfg.TryEach, 1) == 0 {
			r.try(r.next - 1)
		}
		r.wait[j.ID] = true
		r.waits(j.Job, 1)
		changed = r.offer(r.next-1) || changed
	}
	return changed
}

// try tells when a job that has come would start.
func (r *run) try(i int) {
	for _, s := range r.fleet.changed(r.now) {
		r.world.SetSite(s)
	}
	r.world.SetTime(r.now)
	j := &r.cfg.Jobs[i]
	t := r.world.TryQueued(place.Waiting{Job: j.Job, Expected: r.know.expect(j), Refused: r.cfg.Refused[j.ID]})
	if r.cfg.Told != nil {
		r.cfg.Told.Tell(&t.Decision, r.now)
		r.cfg.Told.Correct(&t, r.now)
	}
	r.cfg.Tried(i, r.now, t)
	r.world.Reorder() // the next plan starts over, and tells what starts
}

// waits counts what a job waits for, or does not any more.
func (r *run) waits(j *federation.Job, sign int) {
	r.gpus += sign * GPUs(j)
	r.cpus += sign * j.Needs().Size(0).CPUs
}

// plan has the planner decide, and starts what it binds.
func (r *run) plan() {
	passed := r.know.pass(r.now)
	switch changed := r.order.pass(r.now); {
	case passed && r.order.shares != nil && r.order.shares.ByWork():
		r.world.Predict(func(j *federation.Job) *decision.Expected { return r.know.expect(&r.cfg.Jobs[r.index[j.ID]]) })
	case changed:
		r.world.Reorder()
	}
	if len(r.wait) == 0 {
		return
	}
	began := time.Now()
	if r.local != nil {
		r.local.show()
	}
	for _, s := range r.fleet.changed(r.now) { // none where there are local jobs
		r.world.SetSite(s)
	}
	r.world.SetTime(r.now)
	clear(r.starts)
	kept, some := len(r.limited.kept), false // have begun
	refused := map[int]*decision.Offer{}     // to the jobs of a user group
	decisions := r.world.Decide()
	r.res.Planner += time.Since(began)
	r.res.Plans++
	for i := range decisions {
		d := &decisions[i]
		switch held := r.starts[d.Job]; {
		case !d.Bind:
			o := &r.res.Jobs[r.index[d.Job]]
			o.Reason, o.Limited = d.Reason, false
		case r.local != nil:
			r.bind(d)
		case len(held) > 0 && !r.allows(d):
			refused[r.kin(r.index[d.Job])] = d.Offers[0]
		case len(held) > 0:
			r.begin(d, held)
			some = true
		}
	}
	if more := len(r.limited.kept) > kept && r.keepOthers(refused); more || some && r.refill() { // what some were to get is for others
		r.plan()
		return
	}
	if r.local != nil {
		r.local.schedule()
	}
}

// bind gives a job to the queue of a site.
func (r *run) bind(d *decision.Decision) {
	i := r.index[d.Job]
	j, o := &r.cfg.Jobs[i], &r.res.Jobs[i]
	delete(r.wait, d.Job)
	r.waits(j.Job, -1)
	r.world.DropJob(d.Job)
	o.Site, o.Pool, o.Reason = d.Offers[0].Site, d.Offers[0].Pool, ""
	r.world.Claim(o.Site, federation.Bound{Job: j.Job, Units: 1, Since: r.now})
	r.local.join(i, o.Site)
}

// released takes back what a job that has ended was claimed at a site with queues.
func (r *run) released(o *Outcome) {
	if r.local != nil {
		r.world.Release(o.Site, o.Job.ID)
	}
}

// begin starts a job.
func (r *run) begin(d *decision.Decision, held []start) {
	i := r.index[d.Job]
	j, o := &r.cfg.Jobs[i], &r.res.Jobs[i]
	offer := d.Offers[0]
	delete(r.wait, d.Job)
	r.waits(j.Job, -1)
	r.world.DropJob(d.Job)
	o.Site, o.Pool, o.Reason, o.Limited = offer.Site, offer.Pool, "", false
	if r.cfg.Limits != nil {
		r.limited.here[r.kin(i)]--
		r.cfg.Limits.Start(r.now, j.Job, offer)
	}
	boot := r.fleet.boot(held)
	start := r.now.Add(boot + r.moving.now)
	if o.Moves == 0 {
		o.Start = start
		if r.cfg.Told != nil {
			r.cfg.Told.Started(d.Job, o.Start)
		}
	}
	lasts := r.fleet.lasts(offer, r.lasts(i))
	o.End = start.Add(lasts)
	r.began(j.Job, start)
	o.GPUs, o.Rented = offer.GPUs, offer.Offering != ""
	for k := range held {
		h := &held[k].held
		o.CPUs += h.CPUs * len(h.Nodes)
		h.User, h.Account, h.QOS = j.User, j.Spec.Account, j.Spec.QOS
		h.End = r.know.endOf(j, start)
		r.fleet.take(&held[k], r.now, start)
	}
	o.Cost = costOf(offer, lasts+boot)
	r.know.started(j, start)
	r.order.started(o)
	heap.Push(&r.ends, end{o.End, i, slices.Clone(held)})
	r.live++
}

// costOf is what a run comes to: its offer's price for the time that it was expected to run, for the time that it ran.
func costOf(o *decision.Offer, lasts time.Duration) decision.Dollars {
	if o.Run <= 0 || len(o.Terms) == 0 {
		return 0
	}
	return o.Terms[0].Amount * decision.Dollars(lasts.Seconds()/o.Run.Seconds())
}

// sampleEvery is how far apart samples are at least.
const sampleEvery = 10 * time.Minute

func (r *run) takeSample() {
	if r.now.Sub(r.sample) < sampleEvery {
		return
	}
	r.sample = r.now
	s := Sample{At: r.now, Waiting: len(r.wait), Running: r.live, GPUsWaiting: r.gpus, CPUsWaiting: r.cpus, GPUsUsed: r.fleet.used.gpus, CPUsUsed: r.fleet.used.cpus, GPUsRented: r.fleet.used.rented}
	r.res.Samples = append(r.res.Samples, s)
}

// GPUs is how many GPUs a job asks for.
func GPUs(j *federation.Job) int {
	z := j.Needs().Size(0)
	return z.GPUs()
}
