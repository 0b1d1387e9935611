package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/quota"
	"fsub/sbatch"
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
		c.event(j, "waits: %s", no.Public()) // whoever sees the job sees this
	}
	return no.Reason
}

// misuses refuses a job that names an account or a QOS which the account tree does not give its user, and no site that keeps accounts of its own does either.
// Such sites judge for themselves; all others would let anybody charge any account. It may be called at any time.
func (c *Controller) misuses(j *federation.Job) error {
	if c.cfg.Quota == nil {
		return nil
	}
	sites := c.view.sites.Load().sites
	for i := range 1 + len(j.Spec.Het) {
		sp := j.Spec
		if i > 0 {
			sp = &j.Spec.Het[i-1]
		}
		kind, is := c.cfg.Quota.Misused(j.User, sp.Account, sp.QOS)
		switch {
		case !is || slices.ContainsFunc(sites, func(s *federation.Site) bool { return allows(s, j.User, sp, kind) }):
		case kind == accounts.Account:
			return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2045, Text: "Invalid account or account/partition combination specified",
				Detail: fmt.Sprintf("user %s has no account %s", j.User, sp.Account)}
		default:
			return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2066, Text: "Invalid qos specification",
				Detail: fmt.Sprintf("user %s may not use QOS %s", j.User, sp.QOS)}
		}
	}
	return nil
}

// allows reports whether a site that keeps accounts gives a user the account that a job names, or its QOS.
func allows(s *federation.Site, user string, sp *sbatch.Spec, kind accounts.Kind) bool {
	if s.Seen == nil {
		return false
	}
	if u, ok := s.Users[user]; ok && u.Name != "" {
		user = u.Name
	}
	return slices.ContainsFunc(s.Seen.Associations[user], func(a federation.Association) bool {
		return (sp.Account == "" || strings.EqualFold(a.Account, sp.Account)) && (kind == accounts.Account || slices.Contains(a.QOS, sp.QOS))
	})
}

// charged is the account that a run of j is charged to: the site's word, if it keeps accounts, else that of the account tree.
func (c *shared) charged(s *site, j *job, told string) string {
	if c.cfg.Quota == nil || told != "" && (s.Seen == nil || s.Seen.Associations != nil) {
		return told
	}
	return c.cfg.Quota.Account(j.User, told)
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
