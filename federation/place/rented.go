package place

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// Nodes of rented pools have separate prices. What a job costs there has up to three terms beside waiting:
//
//	run  = price of a node x nodes x expected run. Where nodes are shared, price is the job's share of one: the largest of its
//	       shares of the node's CPUs, memory and GPUs.
//	risk = nodes x interrupts x expected run x lost work x the price by the hour of all that the job holds. Interrupts are by node
//	       and hour, as learnt by cloud/risk.go, or by slice and hour where nodes come and go in slices: one that is taken back ends the whole gang. Lost work is half the
//	       expected run, at most Policy.LostWork or, if the job says how often it writes a checkpoint (#FSUB --checkpoint), half of that time.
//	boot = what waiting is worth for as long as the slowest node takes to start, and the price of each that must for its own start.
//
// A fourth is in availability.go. Run, risk and the nodes' price in boot are expected to be billed: --max-cost bounds them.

// rented is what the nodes are beyond Slurm nodes, nil if they are not rented.
func (s *placement) rented() *federation.Rented { return s.site.model.pools[s.pool].Shape.Rented }

// runCost is what one unit's expected run costs.
func (c *runPrice) runCost(shape *federation.Node) decision.Dollars { return c.costOf(shape, c.run) }

// costOf is what a run of some time costs.
func (c *runPrice) costOf(shape *federation.Node, run time.Duration) decision.Dollars {
	if r := shape.Rented; r != nil && r.PricePerHour > 0 {
		share := shareOf(shape, &c.fits[0])
		return r.PricePerHour * decision.Dollars(share*float64(c.fits[0].nodes)*run.Hours())
	}
	return decision.Dollars(c.rate.PerHour * run.Hours())
}

// mostCost is what a run costs that takes all of its limit; 0: it has none.
func (c *runPrice) mostCost() decision.Dollars {
	if c.limit == sbatch.Unlimited {
		return 0
	}
	return c.costOf(&c.site.model.pools[c.pool].Shape, c.limit)
}

// shareOf is the part of a node that f takes: the largest of its shares of CPUs, memory and GPUs.
func shareOf(shape *federation.Node, f *fit) float64 {
	if f.whole {
		return 1
	}
	share := float64(f.takes()) / float64(max(shape.CPUs, 1))
	share = max(share, float64(f.mem)/float64(max(shape.Mem, 1)))
	if have := shapeGRES(shape, gres.Resource{Name: "gpu"}); have > 0 {
		share = max(share, float64(f.gpus)/float64(f.nodes*have))
	}
	return min(share, 1)
}

// rentDetail is "2 x g6.xlarge x 1.00 h at $0.80/h", of shared nodes "0.25 of g6.xlarge x 1.00 h at $0.80/h".
func (w wording) rentDetail(r *federation.Rented, f *fit) string {
	kind, _, _ := strings.Cut(r.Offering, "/")
	if kind == "" {
		kind = "node"
	}
	what := strconv.Itoa(f.nodes) + " x " + kind
	if share := shareOf(&w.site.model.pools[w.pool].Shape, f); share < 1 {
		what = strconv.FormatFloat(share, 'g', 3, 64) + " of " + kind
		if f.nodes > 1 {
			what = strconv.Itoa(f.nodes) + " x " + what
		}
	}
	text := fmt.Sprintf("%s x %s", what, hoursText(w.run))
	if r.PricePerHour > 0 || r.Paid == "" {
		text += " at $" + rateText(float64(r.PricePerHour)) + "/h"
		if r.OldPrice != "" {
			text += ", an old price of " + r.OldPrice
		}
	}
	if r.Paid != "" {
		text += ", " + r.Paid
	}
	return text
}

// priceRisk fills in what is expected to be lost, and with it what the candidate costs whenever it starts.
func (c *runPrice) priceRisk(p *Policy) {
	c.fixed = c.cost
	r := c.rented()
	if r == nil || r.Interrupts <= 0 || c.cost <= 0 || c.run <= 0 {
		return
	}
	often, lost := r.Interrupts*float64(slicesOf(r, &c.fits[0]))*c.run.Hours(), c.lost(p)
	// What the run costs, for the share of it that is lost each time.
	c.risk = decision.Dollars(often*lost.Hours()/c.run.Hours()) * c.cost
	c.fixed += c.risk
}

// slicesOf is how many of what a provider takes back as one a job holds: slices, or nodes that are rented one by one.
func slicesOf(r *federation.Rented, f *fit) int {
	hosts := max(r.Hosts, 1)
	return (f.nodes + hosts - 1) / hosts
}

// lost is how much work is lost when a node is taken back.
func (c *runPrice) lost(p *Policy) time.Duration {
	if c.saved > 0 {
		return min(c.run, c.saved) / 2
	}
	return min(c.run/2, p.LostWork)
}

func (w wording) riskDetail() string {
	r, f := w.rented(), &w.fits[0]
	what := nodesText(f.nodes)
	if n := slicesOf(r, f); r.Hosts > 1 && n == 1 {
		what = "1 slice"
	} else if r.Hosts > 1 {
		what = strconv.Itoa(n) + " slices"
	}
	seen := ""
	if r.Taken > 0 || r.TakenIn > 0 {
		hours := "<1" // they are whole
		if r.TakenIn > 0 {
			hours = strconv.FormatFloat(r.TakenIn, 'g', 3, 64)
		}
		seen = fmt.Sprintf(" (%s in %s h)", timesText(r.Taken), hours)
	}
	return fmt.Sprintf("taken back %s/h%s x %s x %s, %s lost each time", strconv.FormatFloat(r.Interrupts, 'g', 3, 64), seen, what, hoursText(w.run), spanText(w.lost(&w.pl.policy)))
}

// timesText is how often something was: after a while takings count less, and are no whole number.
func timesText(n float64) string {
	if text := strconv.FormatFloat(n, 'g', 2, 64); text != "1" {
		return text + " takings"
	}
	return "1 taking"
}

// bootOf is how many seconds node n takes to start.
func (m *model) bootOf(n int32) int64 {
	if m.boot == nil {
		return 0
	}
	return m.boot[n]
}

// afterBoot is when a job ends on node n that would end at end if it had not to wait for the node to start.
func (m *model) afterBoot(n int32, end int64) int64 {
	if m.boot == nil || end == never {
		return end
	}
	return end + m.boot[n]
}

// boot is what must be started before a job can.
type boot struct {
	nodes   int              // that must start
	longest int64            // seconds
	price   decision.Dollars // of all of them while they start
	cost    decision.Dollars // with what waiting for them is worth
}

func (b *boot) span() time.Duration { return time.Duration(b.longest) * time.Second }

// text is "2 nodes start in 2 min".
func (b *boot) text() string {
	if b.nodes == 1 {
		return "1 node starts in " + spanText(b.span())
	}
	return fmt.Sprintf("%d nodes start in %s", b.nodes, spanText(b.span()))
}

// add joins what another component must start.
func (b *boot) add(o boot) {
	b.nodes += o.nodes
	b.longest = max(b.longest, o.longest)
	b.price += o.price
}

// bootOn is what must be started for a job to run on some nodes.
func (s *placement) bootOn(nodes []int32) (b boot) {
	m := s.site.model
	if m.boot == nil {
		return b
	}
	for _, n := range nodes {
		if t := m.boot[n]; t > 0 {
			b.nodes++
			b.longest = max(b.longest, t)
			b.price += s.bootPrice(t)
		}
	}
	return b
}

// bootCost is the price of the nodes that must start, and of waiting for them.
func (c *runPrice) bootCost(at *moment, p *Policy) decision.Dollars {
	if at.boot.nodes == 0 {
		return 0
	}
	if !at.free {
		return 0
	}
	return c.waitCost(at.boot.span(), p) + at.boot.price
}

// bootPrice is what nodes cost for some seconds in which they start.
func (s *placement) bootPrice(seconds int64) decision.Dollars {
	r := s.rented()
	if r == nil {
		return 0
	}
	return r.PricePerHour * decision.Dollars(float64(seconds)/3600)
}

// bill is what a job is expected to be billed at most: if every one of its nodes must start.
func (c *runPrice) bill() decision.Dollars {
	m := c.site.model
	if c.parts == nil && c.rate.Assumed && c.rented() == nil { // what is assumed is not billed
		return 0
	}
	if c.parts != nil {
		sum := decision.Dollars(0)
		for _, options := range c.parts {
			sum += options[0].bill()
		}
		return sum
	}
	fixed := c.fixed - c.powerCost() - c.data.unbilled
	if m.boot == nil {
		return fixed
	}
	longest := int64(0)
	for _, p := range c.pools {
		longest = max(longest, m.longest[p])
	}
	return fixed + c.bootPrice(longest*int64(c.fits[0].nodes))
}

// rentalRefusal is why too few nodes of a rented pool are up, where one of those that are not says so. It is never for good: a cloud that has no
// such machine now may have some later.
func (m *model) rentalRefusal(g *group, f *fit, s size) *refusal {
	for _, n := range m.nodesOf(g) {
		r := m.obs.Nodes[n].Rented
		if r == nil || r.Refused == nil || m.up[n] || f.exclude[n] {
			continue
		}
		no := forNow(r.Refused.Reason, codes.NodesToBeHad, nodesText(f.nodes), s.up, s.nodes)
		no.detail = r.Refused.Detail
		return no
	}
	return nil
}
