package place

import (
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Pools of rented nodes may have budgets, part of which is committed to what runs (see [federation.Allowance]). A job that could cost more than
// the rest before its time limit is not started there, nor is one that may outlast the nodes. Both may change.

// until is when the candidate's nodes are given back at the latest; for a job without a limit, when that is expected.
func (c *candidate) until(now time.Time) time.Time {
	start := now
	if c.site.model.boot != nil {
		start = start.Add(time.Duration(c.site.model.longest[c.pool]) * time.Second)
	}
	return federation.HeldUntil(start, start, c.limit, c.run, federation.KillTime)
}

// rentRefusal is why the candidate's nodes are not available for as long as the job may run, nil if they are.
func (c *candidate) rentRefusal(now time.Time) *refusal {
	r := c.rented()
	if r == nil {
		return nil
	}
	if !r.Until.IsZero() && (c.limit == sbatch.Unlimited || c.until(now).Add(-federation.KillTime).After(r.Until)) {
		return forNow(reasons.ReqNodeNotAvail, codes.NodesEnd, shortTime(c.limit), r.Until.UTC().Format("2006-01-02T15:04Z"))
	}
	c.most = c.shares(now, c.until(now), 1)
	for i, a := range c.site.model.parts[c.pool].Allowances {
		if !a.Bears(c.most[i]) {
			no := &refusal{reason: reasons.Budget, why: a.Refuses(c.most[i])}
			if n := c.mostNodes(); n > c.fits[0].nodes {
				no.note(codes.NoteOnUpTo, nodesText(n))
			}
			if c.limit == sbatch.Unlimited {
				no.note(codes.NoteNoTimeLimit, spanText(max(c.run, federation.OpenEnd)))
			}
			return no
		}
	}
	return nil
}

// mostNodes is how many nodes a job may get there: of a range, a driver gives as many as it has.
func (s *placement) mostNodes() int {
	nodes, d := s.fits[0].nodes, s.ask.Demand
	byGPUs := d.Count("gpu", demand.PerJob)+d.Count("gpu", demand.PerTask) > 0
	if byGPUs || d.MaxNodes+d.Tasks == 0 || !d.Spread && (d.UseMinNodes || d.MaxNodes <= nodes) {
		return nodes
	}
	m := s.site.model
	most := m.sizes[s.pool].nodes
	for _, bound := range [...]int{d.MaxNodes, d.Tasks, m.parts[s.pool].MaxNodes} {
		if bound > 0 {
			most = min(most, bound)
		}
	}
	return max(most, nodes)
}

// perHour is what a part of the candidate's nodes costs.
func (s *placement) perHour(part float64) federation.Money {
	return accounting.MoneyOf(float64(s.rented().PricePerHour) * float64(s.mostNodes()) * part)
}

// shares are what a part of the candidate's nodes may cost of each allowance from one time until another; nil if there are none.
func (c *candidate) shares(from, until time.Time, part float64) []federation.Money {
	all := c.site.model.parts[c.pool].Allowances
	if len(all) == 0 {
		return nil
	}
	perHour, list := c.perHour(part), make([]federation.Money, len(all))
	for i := range all {
		list[i] = all[i].Share(perHour, from, until)
	}
	return list
}

// borne reports whether the allowances can still pay for the candidate after the other jobs of this plan.
func (c *candidate) borne() bool {
	return c.most == nil || c.site.bears(c.site.model.parts[c.pool], c.most)
}

// pay commits what the candidate may cost; on shared nodes, for its share of them.
func (c *candidate) pay(now time.Time) {
	if c.most == nil {
		return
	}
	costs := c.shares(now, c.until(now), shareOf(&c.site.model.pools[c.pool].Shape, &c.fits[0]))
	c.site.bind(c.site.model.parts[c.pool], costs)
}

// bears reports whether a partition's allowances can each pay a further cost, on top of what jobs of this plan may cost.
func (st *siteState) bears(part *federation.Partition, costs []federation.Money) bool {
	for i, a := range part.Allowances {
		if used := st.spent[part]; used != nil {
			a.Bound += used[i]
		}
		if !a.Bears(costs[i]) {
			return false
		}
	}
	return true
}

func (st *siteState) bind(part *federation.Partition, costs []federation.Money) {
	if st.spent == nil {
		st.spent = map[*federation.Partition][]federation.Money{}
	}
	used := st.spent[part]
	if used == nil {
		used = make([]federation.Money, len(costs))
		st.spent[part] = used
	}
	for i, cost := range costs {
		used[i] += cost
	}
}

// partsCost is what the components of a heterogeneous job may cost together of each partition's allowances. All of them have their nodes until the last one ends.
func partsCost(parts []*candidate, now time.Time) map[*federation.Partition][]federation.Money {
	var until time.Time
	for _, c := range parts {
		if at := c.until(now); at.After(until) {
			until = at
		}
	}
	costs := map[*federation.Partition][]federation.Money{}
	for _, c := range parts {
		if c.most == nil {
			continue
		}
		part := c.site.model.parts[c.pool]
		if costs[part] == nil {
			costs[part] = make([]federation.Money, len(part.Allowances))
		}
		for i, cost := range c.shares(now, until, 1) {
			costs[part][i] += cost
		}
	}
	return costs
}

// refusal is why the components of a heterogeneous job cannot be paid for together, each where it is cheapest; nil if they can.
func (cs components) refusal(now time.Time) *refusal {
	parts := make([]*candidate, len(cs))
	for i, options := range cs {
		parts[i] = options[0]
	}
	costs := partsCost(parts, now)
	for _, one := range parts {
		part := one.site.model.parts[one.pool]
		for i, cost := range costs[part] {
			if a := &part.Allowances[i]; !a.Bears(cost) {
				no := &refusal{reason: reasons.Budget, why: a.Refuses(cost)}
				no.note(codes.NoteTogether)
				return no
			}
		}
	}
	return nil
}

// spotsCost is partsCost of components where they would start.
func spotsCost(spots []spot, now time.Time) map[*federation.Partition][]federation.Money {
	parts := make([]*candidate, len(spots))
	for i := range spots {
		parts[i] = spots[i].c
	}
	return partsCost(parts, now)
}

// bearsTogether is bears for components where they would start.
func (st *siteState) bearsTogether(spots []spot, now time.Time) bool {
	for part, costs := range spotsCost(spots, now) {
		if !st.bears(part, costs) {
			return false
		}
	}
	return true
}
