package place

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Try tells when and where a job would start if it were submitted now and alone in the queue. e is how long it is expected to run; nil: nothing is known of that.
func (w *World) Try(job *federation.Job, e *decision.Expected) decision.Trial {
	w.begin()
	w.progress.stale = true // the next plan starts over
	t, sh := w.tryLast(job, e)
	sh.payFor(&t)
	return t
}

// TryQueued is Try of a job that takes its turn among those of the queue: its start is what the plan gives it. The job has a number that no other has.
func (w *World) TryQueued(j Waiting) (t decision.Trial) {
	w.settle()
	t, sh := w.tryLast(j.Job, j.Expected)
	defer func() { sh.payFor(&t) }()
	w.SetJob(j)
	defer w.DropJob(j.Job.ID)
	w.settle()
	q := w.index.of(j.Job.ID)
	if q == nil || !w.progress.lookedAt(q) {
		return t
	}
	d := w.decision(w.progress.decided(q))
	if len(d.Offers) == 0 {
		return t
	}
	o := d.Offers[0]
	if t.Site != o.Site || len(t.Decision.Offers) == 0 || t.Decision.Offers[0].Pool != o.Pool {
		for _, c := range sh.candidates {
			if c.parts == nil && c.site.site.Name == o.Site && c.name == o.Pool {
				take(&t, c.spotsAt(&moment{start: never}))
			}
		}
	}
	t.Decision = d
	setStart(&t, o, j.Job)
	return t
}

// tryLast is Try of a job behind all that the plan is about.
func (pl *plan) tryLast(job *federation.Job, e *decision.Expected) (decision.Trial, *shape) {
	pl.look(job)
	sh := pl.shapeOfJob(job, e, nil)
	t := decision.Trial{Decision: decision.Decision{Job: job.ID, Rejections: sh.rejections, Expected: e}}
	best, at := pl.best(sh)
	if best == nil {
		t.Decision.Reason = waitReason(sh.rejections)
		return t, sh
	}
	t.Decision.Offers = pl.offersOf(sh, best, &at).all(pl)
	setStart(&t, t.Decision.Offers[0], job)
	take(&t, best.spotsAt(&at))
	return t, sh
}

// payFor adds to the offers of a trial what runs pay that take as long as earlier ones, and as long as they may.
func (sh *shape) payFor(t *decision.Trial) {
	t.Decision.Offers = slices.Clone(t.Decision.Offers)
	for i, o := range t.Decision.Offers {
		for _, c := range sh.candidates {
			if c.parts == nil && c.site.site.Name == o.Site && c.name == o.Pool && c.as == o.As {
				with := *o // the plan keeps its own
				with.Paid = c.paid(o.Price(), sh.expected)
				t.Decision.Offers[i] = &with
				break
			}
		}
	}
}

// paid is what is paid for runs of other lengths, where one of the mean length pays so much.
func (c *candidate) paid(mean decision.Dollars, e *decision.Expected) *decision.Paid {
	of := func(run time.Duration) decision.Dollars {
		sum := mean + c.costOf(&c.site.model.pools[c.pool].Shape, run) - c.cost
		if c.run > 0 {
			sum += c.powerCost() * decision.Dollars(run.Hours()/c.run.Hours()-1)
		}
		return max(sum, 0)
	}
	p := &decision.Paid{}
	if speed := c.site.site.Speed[c.gpu]; e != nil && e.Runs > 0 {
		p.P50, p.P90 = of(atSpeed(e.P50, c.limit, speed)), of(atSpeed(max(e.P50, e.P90), c.limit, speed))
	}
	if c.limit != sbatch.Unlimited {
		p.Most = of(c.limit)
	}
	return p
}

// setStart sets the start of a trial to that of an offer, but not to before the job may start.
func setStart(t *decision.Trial, o *decision.Offer, job *federation.Job) {
	s := o.Begins()
	t.Site, t.Partition, t.Start, t.Within = o.Site, o.Partition, s.At, s.Within
	if t.Start.Before(job.Spec.Begin) {
		t.Start = job.Spec.Begin
	}
	if !t.Within.IsZero() && t.Within.Before(t.Start) {
		t.Within = t.Start
	}
	t.Start = t.Start.Truncate(time.Second)
}

// take sets the nodes of a trial.
func take(t *decision.Trial, spots []spot) {
	t.Nodes, t.Processors = nil, 0
	for _, sp := range spots {
		t.Processors += sp.processors()
		for _, n := range sp.nodes {
			t.Nodes = append(t.Nodes, sp.c.site.model.obs.Nodes[n].Name)
		}
	}
}

// Judge tells which pools could ever run a job, and why the others cannot, as [Refusal] needs it. It is cheap, because it ignores what is
// free. Its offers have no start times and no cost of waiting.
func (w *World) Judge(job *federation.Job) decision.Decision {
	w.read()
	w.look(job)
	sh := w.shapeOfJob(job, nil, nil)
	d := decision.Decision{Job: job.ID, Reason: reasons.None, Rejections: sh.rejections}
	for _, c := range sh.candidates {
		at := moment{start: w.now, free: true}
		c.weigh(&at, &w.plan)
		d.Offers = append(d.Offers, c.offer(&at, &w.plan))
	}
	if len(d.Offers) == 0 {
		d.Reason = waitReason(sh.rejections)
	}
	return d
}

// spotsAt is where a candidate would start at a moment: nodes that are free then, or any where nothing says when.
func (c *candidate) spotsAt(at *moment) []spot {
	parts, fit, nodes := c.parts, at.fit, at.nodes
	switch {
	case at.spots != nil:
		return at.spots
	case parts == nil && nodes == nil && at.start != never:
		_, nodes = c.site.capacity().search(&c.curs[fit], &c.fits[fit], c.limit)
	}
	if nodes != nil {
		return []spot{{c, fit, nodes}}
	}
	if parts == nil {
		parts = [][]*candidate{{c}}
	}
	var spots []spot
	for _, options := range parts {
		o := options[0]
		all := o.site.model.nodesOf(&o.group)
		spots = append(spots, spot{o, 0, all[:min(o.fits[0].nodes, len(all))]})
	}
	return spots
}

// processors are the CPUs that a job gets at a spot: of whole nodes all, else what its tasks take.
func (s *spot) processors() int {
	f, m, sum := &s.c.fits[s.fit], s.c.site.model, 0
	for _, n := range s.nodes {
		if f.whole {
			sum += int(m.totalCPU[n])
		} else {
			sum += int(f.takes())
		}
	}
	a := s.c.ask
	if m.pools[s.c.pool].Shape.Threads > 1 || f.whole || a.tasks == 0 {
		return sum
	}
	return min(sum, max(a.tasks*max(a.CPUsPerTask, 1), len(s.nodes)))
}
