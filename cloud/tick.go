package cloud

import (
	"context"
	"time"

	"fsub/accounting"
	"fsub/federation"
)

// clock looks at the time again and again: at what begins, is late, idle, or overdue.
func (d *Driver) clock(ctx context.Context) {
	last := d.now()
	for sleep(ctx, d.t.Tick) {
		d.mu.Lock()
		last = d.tick(last)
		d.mu.Unlock()
	}
}

// tick does what the time asks for, since the last look.
func (d *Driver) tick(last time.Time) time.Time {
	now := d.now()
	d.draws = 0
	d.coolOff(now, last)
	for j := range d.begins {
		if !j.begin().After(now) {
			d.enqueue(j)
		}
	}
	for _, j := range d.jobs {
		d.overdue(j, now)
	}
	for _, m := range values(d.machines) {
		d.lateMachine(m, now)
	}
	for _, p := range d.pools {
		d.tend(p, now)
	}
	for len(d.ended) > 0 && now.Sub(d.ended[0].End) > d.t.Keep && d.ended[0].written {
		d.forgetJob(d.ended[0])
		d.ended = d.ended[1:]
	}
	d.schedule()
	d.metrics.look(d)
	return now
}

// tend ends the idle machines of a pool, keeps its minimum, and looks who has waited too long.
func (d *Driver) tend(p *pool, now time.Time) {
	if p.spent.roll(now) { // there is money again
		d.capacity(p)
		d.news.nodes()
	}
	was := p.spent.why
	if p.spent.why = p.overBudget(now); (p.spent.why == "") != (was == "") {
		d.capacity(p)
		d.news.nodes()
	}
	broke := p.spent.why != ""
	live := 0
	for _, l := range p.lanes {
		for _, m := range l.machines {
			if m.drain == "" && m.gang.State != gangOver {
				live++
			}
		}
	}
	for _, l := range p.lanes {
		for _, m := range l.machines {
			if m.State != machineUp && m.State != machineBooting || len(m.runs) > 0 {
				continue
			}
			switch {
			case m.drain != "":
				d.endMachine(m, m.drain)
			case broke:
				d.endMachine(m, "budget")
			case l.ends(now, 0):
				d.endMachine(m, blockEnds)
			case live > p.Min && now.Sub(m.idle) >= p.Idle && m.State == machineUp:
				d.endMachine(m, "idle")
				live--
			}
		}
	}
	if !broke && live < p.Min {
		d.warm(p, p.Min-live)
	}
	d.longWaits(p, now)
}

// warm starts machines that a pool is to have though nobody asks for them: the cheapest.
func (d *Driver) warm(p *pool, count int) {
	for _, l := range p.lanes {
		if _, ok := d.mayGrow(l); !ok || l.room() == 0 || l.ends(d.now(), l.offering.Boot+p.Idle) {
			continue
		}
		for range min(count, l.room()) { // each a gang of its own, so that one that fails is no matter for the others
			if !p.bears(accounting.MoneyOf(float64(l.offering.Price)), d.now()) {
				return
			}
			if len(d.numbers) == 0 {
				d.draw()
				return
			}
			d.ask(d.newGang(l, l.newNames(1), false))
		}
		return
	}
}

// ask has a gang asked for that no job waits for.
func (d *Driver) ask(g *gang) {
	g.calling = true
	d.put(g)
	d.after(func() { d.spawn(func(ctx context.Context) { d.create(ctx, g, false) }) })
}

// longWaits finds the class of highest rank that has let others pass for long enough.
func (d *Driver) longWaits(p *pool, now time.Time) {
	was := p.first
	p.first = nil
	for c := range p.classes {
		if len(c.jobs) > 0 && !c.since.IsZero() && now.Sub(c.since) >= d.t.Overtake && c.jobs[0].Reason == federation.ReasonResources &&
			(p.first == nil || rank(c.jobs[0], p.first.jobs[0]) < 0) {
			p.first = c
		}
	}
	if was != nil && p.first != was {
		d.capacity(p)
	}
}
