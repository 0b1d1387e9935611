package place

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// count fills in what a job holds in the pool.
func (s *placement) count(st *siteState) {
	m, f := st.model, &s.fits[0]
	shape := &m.pools[s.pool].Shape
	s.gpus = f.gpus
	cpus := int64(f.takes())
	if f.whole {
		cpus = int64(shape.CPUs)
	}
	s.tres = accounting.TRES{"cpu": cpus * int64(f.nodes), "mem": int64(f.mem) * int64(f.nodes), "node": int64(f.nodes)}
	for _, w := range f.gres {
		kind := m.slots[w.slots[0]]
		name := "gres/" + kind.name
		if kind.kind != "" {
			name += ":" + kind.kind
		}
		n := int64(w.count) * int64(f.nodes)
		if kind.name == "gpu" {
			s.gpu = kind.kind
			n = min(n, int64(f.gpus))
		}
		s.tres[name] += n
	}
	s.rate = accounting.RateOf(st.site.Prices, s.tres)
}

// price fills in how long a job will run in the pool, and what that costs.
func (c *runPrice) price(sh *shape, p *Policy) {
	m := c.site.model
	part := m.parts[c.pool]
	c.limit = limitIn(sh.like.Needs(), part)
	if part.MaxTime > 0 && c.limit > part.MaxTime {
		c.limit = part.MaxTime // --time-min lets it run shorter
	}
	c.run = expectedRun(c.limit, sh.expected, c.site.site.Speed[c.gpu], p)
	c.cost = c.runCost(&m.pools[c.pool].Shape)
}

// limitIn is a job's time limit in a partition: its own, else the partition's default, else its maximum.
func limitIn(d *demand.Demand, part *federation.Partition) time.Duration {
	for _, l := range []time.Duration{d.TimeLimit, part.DefaultTime, part.MaxTime} {
		if l != 0 {
			return l
		}
	}
	return sbatch.Unlimited
}

// expectedRun is how long a job with a limit is expected to run on nodes of some speed (0: not said, 1): as jobs like it did, else for a share of its limit.
func expectedRun(limit time.Duration, e *decision.Expected, speed float64, p *Policy) time.Duration {
	run := p.DefaultRun
	if e != nil {
		run = likely(e)
	} else if limit != sbatch.Unlimited {
		run = time.Duration(float64(limit) * p.RunFraction)
	}
	return atSpeed(run, limit, speed).Round(time.Second)
}

// atSpeed is how long a run within a limit takes on nodes of some speed that takes so long on nodes of speed 1.
func atSpeed(run, limit time.Duration, speed float64) time.Duration {
	if speed <= 0 {
		speed = 1
	}
	return min(time.Duration(min(float64(run)/speed, float64(365*24*time.Hour))), limit)
}

// likely is the time that jobs are expected to run of which that is expected. Those that differ by little count as alike, so that they share a shape.
func likely(e *decision.Expected) time.Duration {
	return time.Duration(math.Exp2(float64(steps(e))/3) * float64(time.Second))
}

// steps is a time as steps of a cube root of two: 0 for a second or less.
func steps(e *decision.Expected) int8 {
	return int8(min(max(math.Round(3*math.Log2(mean(e))), 0), 100))
}

// mean is how many seconds a job is expected to run on average: prices are by the hour, and the few that run for long cost most. It is Swanson's rule (0.3 of the p10, 0.4 of the p50
// and 0.3 of the p90; Hurst, Brown, Swanson, AAPG Bulletin 84, 2000), with a p10 as far below the p50 as the p90 is above it, as of logarithms that spread evenly.
func mean(e *decision.Expected) float64 {
	p50, p90 := e.P50.Seconds(), max(e.P50, e.P90).Seconds()
	if p50 <= 0 {
		return .3 * p90
	}
	return .3*p50*p50/p90 + .4*p50 + .3*p90
}

// runDetail says how the run term came about: "4 x h100 x 0.50 h at $2.10/h".
func (w wording) runDetail(f *fit) string {
	text := make([]byte, 0, 96)
	if r := w.rented(); r != nil && (r.PricePerHour > 0 || r.Paid != "") {
		return string(append(text, w.rentDetail(r, f)...))
	}
	prices, tres, before := w.site.site.Prices, w.tres, len(text)
	bare := w.rate.Assumed && !slices.ContainsFunc([]string{"cpu", "mem", "node", "gres/gpu"}, prices.Priced)
	priced := func(name string, n int64, what string) {
		price := prices.Of(name)
		if w.rate.Assumed && !prices.Priced(name) && (bare || strings.HasPrefix(name, "gres/")) {
			price, _ = accounting.Assumed(name)
		}
		if price <= 0 || n <= 0 {
			return
		}
		if len(text) > before {
			text = append(text, " + "...)
		}
		switch name {
		case "node":
			text = append(text, nodesText(int(n))...)
		case "mem":
			text = append(strconv.AppendFloat(text, float64(n)/1024, 'g', 4, 64), " GiB"...)
		default:
			text = append(strconv.AppendInt(text, n, 10), what...)
		}
		text = append(append(append(text, " x "...), hoursText(w.run)...), " at $"...)
		text = append(append(text, rateText(price)...), "/h"...)
	}
	m := w.site.model
	for _, w := range f.gres {
		kind := m.slots[w.slots[0]]
		name, label := "gres/"+kind.name, kind.name
		if kind.kind != "" {
			name, label = name+":"+kind.kind, kind.kind
		}
		priced(name, tres[name], " x "+label)
	}
	priced("node", tres["node"], "")
	priced("cpu", tres["cpu"], " cpu")
	priced("mem", tres["mem"], "")
	switch {
	case w.rate.Unknown:
		text = append(text, ", assumed "+accounting.AssumedAsOf+": no price set, and the kind is not known"...)
	case w.rate.Assumed:
		text = append(text, ", assumed "+accounting.AssumedAsOf+": no price set"...)
	case len(text) == before:
		text = append(text, sizeText(w.candidate, tres)+" x "+hoursText(w.run)+" at no price"...)
	}
	return string(text)
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

// weigh puts a price on the waiting: what a job-hour and the GPU-hours are worth.
func (c *candidate) weigh(at *moment, pl *plan) {
	switch {
	case at.free:
		at.wait = 0
	case c.queue.foreseen() != nil:
		at.wait = c.queue.foreseenWait(at, pl.now)
	default:
		at.wait = pl.waitUntil(at.start)
	}
	at.boot.cost = c.bootCost(at, &pl.policy)
	at.total = c.priced() + c.waitCost(at.wait, &pl.policy) + at.boot.cost
	if c.parts == nil && c.fits[at.fit].nodes > 1 {
		at.slow = c.slow(at.fit, at.span)
		at.total += at.slow
	}
	at.others = c.othersWait(at, pl)
	at.total += at.others
	if c.due.value > 0 {
		if at.late = 0; c.ends(at, pl).After(c.due.at) {
			at.late = c.due.value
		}
		at.total += at.late
	}
}

// priced is what a candidate costs whatever it waits for.
func (c *runPrice) priced() decision.Dollars { return c.fixed + c.tries + c.cut.loss }

func (c *runPrice) waitCost(wait time.Duration, p *Policy) decision.Dollars {
	return waitCost(wait, c.waitHour(p))
}

// waitCost is the cost of a wait at a price by the hour. It is rounded by itself, so that adding it to the same amounts gives the same sum.
func waitCost(wait time.Duration, hour decision.Dollars) decision.Dollars {
	return decision.Dollars(decision.Dollars(wait.Hours()) * hour)
}

// waitHour is what an hour of waiting is worth.
func (c *runPrice) waitHour(p *Policy) decision.Dollars {
	perHour := p.WaitJobHour + p.WaitGPUHour*decision.Dollars(c.gpus)
	if c.parts == nil {
		perHour *= decision.Dollars(c.urgency)
	}
	return perHour
}

// wording puts into words what a candidate costs at a moment of a plan. It changes nothing.
type wording struct {
	*candidate
	at *moment
	pl *plan
}

// offer makes the offer of a candidate at a moment. It keeps the last one.
func (c *candidate) offer(at *moment, pl *plan) *decision.Offer {
	w := wording{c, at, pl}
	if c.parts != nil {
		return w.offerParts()
	}
	m := c.site.model
	key := offerKey{int32(pl.run), int32(at.fit), int32(at.boot.nodes), at.free, at.start, at.boot.longest, at.span, at.total}
	if c.offered != nil && c.made == key {
		return c.offered
	}
	o := &decision.Offer{
		Site: c.site.site.Name, Partition: m.pools[c.pool].Partition, Pool: c.name,
		Start: pl.clock, Wait: at.wait, Run: c.run,
		Nodes: c.fits[at.fit].nodes, GPUs: c.gpus, GPUType: c.gpu, As: c.as, Most: c.mostCost(), Total: at.total, KeptOff: c.fits[at.fit].keptOff,
	}
	run := decision.Term{Name: "run", Amount: c.cost}
	if c.offered != nil {
		run.Detail = c.offered.Terms[0].Detail
	} else {
		run.Detail = w.runDetail(&c.fits[0])
	}
	terms := 1
	for _, more := range [...]bool{at.slow > 0, at.late > 0, at.others > 0, c.cut.loss > 0, c.risk > 0, len(c.data.moves) > 0, c.tries > 0, c.power.KWh > 0, at.boot.nodes > 0, at.wait > 0} {
		if more {
			terms++
		}
	}
	o.Terms = append(make([]decision.Term, 0, terms), run)
	if r := c.rented(); r != nil {
		o.Market, o.Zone = r.Market, r.Zone
		o.Offering, o.MaxNodes, o.PerHour, o.Until = r.Offering, c.mostNodes(), c.perHour(1), c.until(pl.clock)
	}
	if at.slow > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "topology", Amount: at.slow, Detail: w.slowDetail()})
	}
	if c.risk > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "risk", Amount: c.risk, Detail: w.riskDetail()})
	}
	if t := w.powerTerm(); t != nil {
		o.Terms = append(o.Terms, *t)
	}
	o.Terms = append(o.Terms, w.dataTerms()...)
	if c.tries > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "tries", Amount: c.tries, Detail: w.triesDetail()})
	}
	if c.cut.loss > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "timeout", Amount: c.cut.loss, Detail: w.cutDetail()})
	}
	if at.late > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "late", Amount: at.late, Detail: w.lateDetail()})
	}
	if at.others > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "others", Amount: at.others, Detail: w.othersDetail()})
	}
	w.setWait(o)
	c.offered, c.made = o, key
	return o
}

// setWait fills in when an offer's job would start, and what the waiting costs.
func (w wording) setWait(o *decision.Offer) {
	if !w.at.now() {
		first := w.pl.policy.FarWait
		if f := w.queue.foreseenAt(w.at, w.pl.now); f != nil {
			first, o.Foreseen = w.at.wait, f
		} else if w.at.start != never {
			first = time.Duration(w.at.start-w.pl.now) * time.Second
		}
		o.Start = w.pl.clock.Add(first)
	}
	if b := &w.at.boot; b.nodes > 0 {
		o.Start, o.Wait = o.Start.Add(b.span()), o.Wait+b.span()
		o.Terms = append(o.Terms, decision.Term{Name: "boot", Amount: b.cost, Detail: b.text()})
	}
	if w.at.wait > 0 {
		o.Terms = append(o.Terms, decision.Term{Name: "wait", Amount: w.waitCost(w.at.wait, &w.pl.policy), Detail: w.waitDetail() + w.urgencyDetail() + w.maintenance()})
	}
}

// urgencyDetail is "; QOS urgent: 3 x", where waiting does not have the usual price.
func (w wording) urgencyDetail() string {
	if w.parts != nil || w.urgency == 1 {
		return ""
	}
	return "; QOS " + w.ask.QOS + ": " + strconv.FormatFloat(w.urgency, 'g', 3, 64) + " x"
}

func (w wording) waitDetail() string {
	text := spanText(w.at.wait)
	if f := w.queue.foreseenAt(w.at, w.pl.now); f != nil && !w.at.free {
		text = spanText(f.P50) + ".." + spanText(f.P90) + " " + f.Of
		if f.Unsure != "" {
			text += "; unsure: " + f.Unsure
		}
		if w.at.wait > f.Likely() {
			text += "; behind other jobs of the federation " + spanText(w.at.wait)
		}
		return text
	}
	if w.at.start == never {
		text += ", no end in sight for the jobs that run there"
	}
	return text
}

// maintenance names what is planned on nodes of the pool, and what a job that started now would run into.
func (w wording) maintenance() (text string) {
	m := w.site.model
	if w.parts != nil || !m.reserved {
		return ""
	}
	end := endAt(w.pl.now, w.limit)
	for i := range m.obs.Reservations {
		r := &m.obs.Reservations[i]
		if !r.Maint || unix(r.Start) >= end || !r.End.IsZero() && unix(r.End) <= w.pl.now || r.Name == w.fits[0].reservation {
			continue
		}
		if !m.touches(w.pool, r.Name) {
			continue
		}
		text += "; " + r.Name
		if !strings.HasPrefix(r.Name, "maintenance") {
			text += " (maintenance)"
		}
		if !r.End.IsZero() {
			text += " until " + r.End.UTC().Format("2006-01-02T15:04Z")
		}
	}
	return text
}

// touches reports whether a reservation has nodes of a pool.
func (m *model) touches(pool int, reservation string) bool {
	return slices.ContainsFunc(m.pools[pool].Nodes, func(n int) bool { return m.reservedFor(int32(n), reservation) })
}

// rateText is a price by the unit, or a figure that is compared with another: "2.27", "0.0175". It never has an exponent.
func rateText(d float64) string { return accounting.Bare(accounting.MoneyOf(d).Rate()) }

// dollarsText is an amount: "$2.10", and "<$0.01" for less than a cent.
func dollarsText(d decision.Dollars) string { return accounting.MoneyOf(float64(d)).USD() }

// hoursText is how long nodes are held, as prices are: "2.10 h", and what is less than six minutes as "2.5 min" or "40 s".
func hoursText(d time.Duration) string {
	switch {
	case d > 0 && d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	case d < 6*time.Minute:
		return strconv.FormatFloat(d.Minutes(), 'f', 1, 64) + " min"
	}
	return strconv.FormatFloat(d.Hours(), 'f', 2, 64) + " h"
}

// spanText prints a span of time for people: "40 s", "12 min", "2.5 h", "3.0 d".
func spanText(d time.Duration) string {
	switch {
	case d > 0 && d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
	case d < time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	case d < 48*time.Hour:
		return strconv.FormatFloat(d.Hours(), 'f', 1, 64) + " h"
	}
	return strconv.FormatFloat(d.Hours()/24, 'f', 1, 64) + " d"
}
