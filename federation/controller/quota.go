package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/quota"
)

// quotaAgain is when a job that a limit keeps back is looked at again.
const quotaAgain = 15 * time.Second

// overQuota says why the limits of the account tree keep a job from being bound, "" if they do not, and has it considered again. j is what waits: the job, or
// its array. Without an offer only that counts which is known of the job anywhere.
func (c *Controller) overQuota(j *job, of *federation.Job, o *federation.Offer, now time.Time) federation.Reason {
	if c.cfg.Quota == nil {
		return ""
	}
	w := c.wants(of, o)
	no := c.cfg.Quota.Check(now, &w)
	if no == nil {
		return ""
	}
	c.queue.times.add(j, now.Add(quotaAgain))
	if j.Reason != no.Reason {
		c.event(j, "waits: %s", no.Text)
	}
	return no.Reason
}

// deniedByQOS refuses what a QOS of the account tree with DenyOnLimit allows no job. It may be called at any time.
func (c *shared) deniedByQOS(j *federation.Job) error {
	if c.cfg.Quota == nil {
		return nil
	}
	w := c.wants(j, nil)
	no := c.cfg.Quota.Denies(&w)
	if no == nil {
		return nil
	}
	return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2050, Text: "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
		Said: string(no.Reason), Detail: no.Text}
}

// reserve takes what a live attempt may come to. It follows from the job and from what it was bound for, so that a later daemon takes the same.
func (c *shared) reserve(j *job) {
	if c.cfg.Quota == nil || len(j.att.Decision.Offers) == 0 {
		return
	}
	w := c.wants(&j.Job, j.att.Decision.Offers[0])
	w.Since = j.att.Created
	c.cfg.Quota.Take(j.ID, w)
}

func (c *shared) unreserve(j *job) {
	if c.cfg.Quota != nil {
		c.cfg.Quota.Release(j.ID)
	}
}

// wants is what a job may hold at most, as far as it is known.
func (c *shared) wants(j *federation.Job, o *federation.Offer) quota.Want {
	var prices map[string]float64
	if o != nil {
		if s := c.byName[o.Site]; s != nil {
			prices = s.Prices
		}
	}
	return quota.WantOf(j, o, prices, c.cfg.Policy.RunFraction)
}
