package place

import (
	"fmt"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// Pools of rented nodes may have budgets, of which what runs is bound to cost a part (see [federation.Allowance]). A job that could cost more than what is left until its time
// limit is not started there; nor is one on nodes that are there for a shorter time than it may run. Neither is for good.

// Of a job's cost the driver has the last word. What is reckoned here is a little more than that: else a job would go to and fro.
const (
	killTime = time.Minute // that a job may take to end after its limit
	openEnd  = time.Hour   // at least, of a job without a limit
)

// until is when the candidate's nodes are given back at the latest; of a job without a limit, when that is expected.
func (c *candidate) until(now time.Time) time.Time {
	run := c.limit + killTime
	if c.limit == sbatch.Unlimited {
		run = max(c.run, openEnd)
	}
	boot := int64(0)
	if c.site.model.boot != nil {
		boot = c.site.model.longest[c.pool]
	}
	return now.Add(run + time.Duration(boot)*time.Second)
}

// rentRefusal is why the candidate's nodes are not to be had for as long as the job may run, nil if they are.
func (c *candidate) rentRefusal(now time.Time) *refusal {
	r := c.rented()
	if r == nil {
		return nil
	}
	if !r.Until.IsZero() && (c.limit == sbatch.Unlimited || c.until(now).Add(-killTime).After(r.Until)) {
		return &refusal{reason: federation.ReasonReqNodeNotAvail, detail: fmt.Sprintf("may run for %s, and the nodes are there until %s",
			shortTime(c.limit), r.Until.UTC().Format("2006-01-02T15:04Z"))}
	}
	c.most = c.shares(now, 1)
	for i, a := range c.site.model.parts[c.pool].Allowances {
		if !a.Bears(c.most[i]) {
			return &refusal{reason: federation.ReasonBudget, detail: a.Says(c.most[i])}
		}
	}
	return nil
}

// shares are what a part of the candidate's nodes may cost of each allowance; nil if there are none.
func (c *candidate) shares(now time.Time, part float64) []federation.Dollars {
	all := c.site.model.parts[c.pool].Allowances
	if len(all) == 0 {
		return nil
	}
	perHour, list := c.rented().PricePerHour*federation.Dollars(float64(c.fits[0].nodes)*part), make([]federation.Dollars, len(all))
	for i := range all {
		list[i] = all[i].Share(perHour, now, c.until(now))
	}
	return list
}

// borne reports whether what other jobs of this plan have left bears the candidate.
func (c *candidate) borne() bool {
	if c.most == nil {
		return true
	}
	part := c.site.model.parts[c.pool]
	for i, a := range part.Allowances {
		if used := c.site.bound[part]; used != nil {
			a.Bound += used[i]
		}
		if !a.Bears(c.most[i]) {
			return false
		}
	}
	return true
}

// pay binds what units of the candidate may cost. On shared nodes that is a part of what the first of them may.
func (c *candidate) pay(units int, now time.Time) {
	if c.most == nil {
		return
	}
	part := c.site.model.parts[c.pool]
	if c.site.bound == nil {
		c.site.bound = map[*federation.Partition][]federation.Dollars{}
	}
	used := c.site.bound[part]
	if used == nil {
		used = make([]federation.Dollars, len(c.most))
		c.site.bound[part] = used
	}
	for i, cost := range c.shares(now, shareOf(&c.site.model.pools[c.pool].Shape, &c.fits[0])) {
		used[i] += cost * federation.Dollars(units)
	}
}
