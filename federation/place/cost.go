package place

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// price fills in how long a job will run in the pool, and what that comes to.
func (c *candidate) price(a *ask, p *Policy) {
	m, f := c.site.model, &c.fits[0]
	shape, part := &m.pools[c.pool].Shape, m.parts[c.pool]
	c.limit = a.limit(part.DefaultTime, part.MaxTime)
	if part.MaxTime > 0 && c.limit > part.MaxTime {
		c.limit = part.MaxTime // --time-min lets it run shorter
	}
	c.gpus = f.gpus
	cpus := int64(f.cpu)
	if f.whole {
		cpus = int64(shape.CPUs)
	}
	tres := accounting.TRES{"cpu": cpus * int64(f.nodes), "mem": int64(f.mem) * int64(f.nodes), "node": int64(f.nodes)}
	for _, w := range f.gres {
		kind := m.slots[w.slots[0]]
		name := "gres/" + kind.name
		if kind.kind != "" {
			name += ":" + kind.kind
		}
		n := int64(w.count) * int64(f.nodes)
		if kind.name == "gpu" {
			c.gpu = kind.kind
			n = min(n, int64(f.gpus))
		}
		tres[name] += n
	}
	c.run = expectedRun(c.limit, c.site.site.Speed[c.gpu], p)
	c.tres = tres
	c.term = federation.Term{Name: "run", Amount: c.runCost(shape) * federation.Dollars(a.units)}
	c.room = roomFor(shape, m, f, &c.group)
}

// expectedRun is how long a job with a limit is expected to run on nodes of some speed (0: not said, 1).
func expectedRun(limit time.Duration, speed float64, p *Policy) time.Duration {
	if speed <= 0 {
		speed = 1
	}
	run := p.DefaultRun
	if limit != sbatch.Unlimited {
		run = time.Duration(float64(limit) * p.RunFraction)
	}
	run = time.Duration(min(float64(run)/speed, float64(365*24*time.Hour)))
	return min(run, limit).Round(time.Second)
}

// roomFor is how many jobs like f the nodes of a pool that are up hold when nothing else runs, at least one.
func roomFor(shape *federation.Node, m *model, f *fit, g *group) int {
	up := 0
	for _, p := range g.pools {
		up += m.sizes[p].up
	}
	each := 1
	if f.cpu > 0 && !f.whole {
		each = shape.CPUs / int(f.cpu)
		for _, w := range f.gres {
			have := 0
			for _, s := range w.slots {
				have += shapeGRES(shape, gres.Resource{Name: m.slots[s].name, Type: m.slots[s].kind})
			}
			each = min(each, have/int(w.count))
		}
	}
	return max(up*max(each, 1)/f.nodes, 1)
}

// runDetail says how the run term came about: "4 x h100 x 0.50 h at $2.10/h".
func (c *candidate) runDetail(f *fit, units int) string {
	prices, tres, hours := c.site.site.Prices, c.tres, hoursText(c.run)
	var parts []string
	priced := func(name string, n float64, what string) {
		if price := prices.Of(name); price > 0 && n > 0 {
			parts = append(parts, fmt.Sprintf("%s x %s at $%s/h", strings.TrimSpace(what), hours, moneyText(price)))
		}
	}
	m := c.site.model
	for _, w := range f.gres {
		kind := m.slots[w.slots[0]]
		name, label := "gres/"+kind.name, kind.name
		if kind.kind != "" {
			name, label = name+":"+kind.kind, kind.kind
		}
		priced(name, float64(tres[name]), fmt.Sprintf("%d x %s", tres[name], label))
	}
	priced("node", float64(tres["node"]), nodesText(int(tres["node"])))
	priced("cpu", float64(tres["cpu"]), fmt.Sprintf("%d cpu", tres["cpu"]))
	priced("mem", float64(tres["mem"]), fmt.Sprintf("%s GiB", strconv.FormatFloat(float64(tres["mem"])/1024, 'g', 4, 64)))
	detail := strings.Join(parts, " + ")
	if r := c.rented(); r != nil && r.PricePerHour > 0 {
		detail = c.rentDetail(r, f)
	}
	if detail == "" {
		detail = sizeText(c, tres) + " x " + hours + ", no price set"
	}
	if units > 1 {
		detail = fmt.Sprintf("%d tasks of %s", units, detail)
	}
	return detail
}

func sizeText(c *candidate, tres accounting.TRES) string {
	if c.gpus > 0 {
		kind := c.gpu
		if kind == "" {
			kind = "gpu"
		}
		return fmt.Sprintf("%d x %s", c.gpus, kind)
	}
	return fmt.Sprintf("%d cpu", tres["cpu"])
}

// weigh puts a price on the waiting: what a job-hour and the GPU-hours are worth, for each unit.
func (c *candidate) weigh(at *moment, w *World) {
	a := c.ask
	switch {
	case at.units > 0:
		at.wait = 0
	case at.start == never:
		at.wait = w.policy.FarWait
	default:
		at.wait = time.Duration(at.start-w.now) * time.Second
	}
	mean := at.wait
	if a.units > 1 {
		// What cannot start now waits about half a run, and again for every further time that the pool must be filled.
		left := 1 - float64(at.units)/float64(a.width)
		rounds := float64(ceilDiv(a.width, c.room)-1) / 2
		mean += time.Duration((left/2 + rounds) * float64(c.run))
	}
	at.wait = mean
	at.boot.cost = c.bootCost(at, &w.policy)
	at.total = c.fixed + c.waitCost(mean, &w.policy) + at.boot.cost
}

func (c *candidate) waitCost(wait time.Duration, p *Policy) federation.Dollars {
	perHour := p.WaitJobHour + p.WaitGPUHour*federation.Dollars(c.gpus)
	return federation.Dollars(wait.Hours()) * perHour * federation.Dollars(c.ask.units)
}

// offer puts a candidate and a moment into words.
func (c *candidate) offer(at *moment, w *World) federation.Offer {
	if c.parts != nil {
		return c.offerParts(at, w)
	}
	m, a := c.site.model, c.ask
	if c.term.Detail == "" {
		c.term.Detail = c.runDetail(&c.fits[0], a.units)
	}
	o := federation.Offer{
		Site: c.site.site.Name, Partition: m.pools[c.pool].Partition, Pool: c.name,
		Start: w.clock, Wait: at.wait, Run: c.run,
		Nodes: c.fits[at.fit].nodes, GPUs: c.gpus, GPUType: c.gpu, As: c.as,
		Terms: []federation.Term{c.term}, Total: at.total,
	}
	if r := c.rented(); r != nil {
		o.Offering, o.MaxNodes, o.PerHour, o.Until = r.Offering, c.mostNodes(), c.perHour(1), c.until(w.clock)
	}
	if c.risk.Amount > 0 {
		o.Terms = append(o.Terms, c.risk)
	}
	c.setWait(&o, at, w)
	return o
}

// setWait fills in when an offer's job would start, and what the waiting comes to.
func (c *candidate) setWait(o *federation.Offer, at *moment, w *World) {
	if !at.now() {
		first := w.policy.FarWait
		if at.start != never {
			first = time.Duration(at.start-w.now) * time.Second
		}
		o.Start = w.clock.Add(first)
	}
	if b := &at.boot; b.nodes > 0 {
		o.Start, o.Wait = o.Start.Add(b.span()), o.Wait+b.span()
		o.Terms = append(o.Terms, federation.Term{Name: "boot", Amount: b.cost, Detail: b.text(at.units)})
	}
	if at.wait > 0 {
		o.Terms = append(o.Terms, federation.Term{Name: "wait", Amount: c.waitCost(at.wait, &w.policy), Detail: waitDetail(at, c.ask)})
	}
}

func waitDetail(at *moment, a *ask) string {
	text := spanText(at.wait)
	switch {
	case a.units > 1:
		text += fmt.Sprintf(" a task, %d of %d now", at.units, a.units)
	case at.start == never:
		text += ", no end in sight of what runs there"
	}
	return text
}

// moneyText prints dollars with at least two places, and more only where they matter: 2.10, 0.0125.
func moneyText(d float64) string {
	if d != 0 && math.Abs(d) < 0.1 {
		return strconv.FormatFloat(d, 'g', 3, 64)
	}
	return strconv.FormatFloat(d, 'f', 2, 64)
}

func hoursText(d time.Duration) string {
	return strconv.FormatFloat(d.Hours(), 'f', 2, 64) + " h"
}

// spanText prints a span of time for people: "40 s", "12 min", "2.5 h", "3.0 d".
func spanText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f d", d.Hours()/24)
}
