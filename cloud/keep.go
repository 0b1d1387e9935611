package cloud

import (
	"time"

	"fsub/accounting"
)

// tend ends the idle machines of a pool, and keeps its minimum.
func (rt *renter) tend(p *pool, now time.Time) {
	if p.spent.roll(now) { // there is money again
		p.wake()
		rt.news.nodes()
	}
	was := p.spent.why
	if p.spent.why = p.overBudget(now); (p.spent.why == "") != (was == "") {
		p.wake()
		rt.news.nodes()
	}
	broke := p.spent.why != ""
	live := 0
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			if m.drain == "" && m.Held == "" && m.gang.State != gangOver {
				live++
			}
		}
	}
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			if m.State != machineUp && m.State != machineBooting || len(m.runs) > 0 {
				continue
			}
			switch {
			case m.drain != "":
				rt.fleet.endMachine(m, m.drain)
			case m.Held != "":
				rt.fleet.endMachine(m, m.Held)
			case broke:
				rt.fleet.endMachine(m, "budget")
			case ng.ends(now, 0):
				rt.fleet.endMachine(m, blockEnds)
			case live > p.Min && m.keeper == nil && now.Sub(m.sliceIdle()) >= p.Idle && m.State == machineUp && m.sliceFree():
				rt.fleet.endMachine(m, "idle")
				live -= ng.hosts()
			}
		}
	}
	if !broke && live < p.Min {
		rt.warm(p, p.Min-live)
	}
}

// warm starts machines that a pool is to have though nobody asks for them: the cheapest.
func (rt *renter) warm(p *pool, count int) {
	for _, ng := range p.groups {
		if _, ok := rt.fleet.mayGrow(ng); !ok || ng.room() == 0 || ng.ends(rt.now(), ng.offering.Boot+p.Idle) {
			continue
		}
		for range min((count+ng.hosts()-1)/ng.hosts(), ng.room()/ng.hosts()) { // each a gang of its own, so that one that fails is no matter for the others
			if !p.bears(accounting.MoneyOf(float64(ng.offering.Price)), rt.now()) {
				return
			}
			number := rt.numbers.next(rt.scheduler.schedule)
			if number == 0 {
				return
			}
			rt.ask(rt.fleet.newGang(number, ng, ng.newNames(ng.hosts()), false))
		}
		return
	}
}

// ask requests a gang that no job waits for.
func (rt *renter) ask(g *gang) {
	g.calling, g.Warm = true, true
	rt.put(g)
	rt.after(func() { rt.requests.add(g) })
}
