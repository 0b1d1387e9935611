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

// misuses refuses a job that names an account of the tree which its user is not in, or a QOS which neither the tree nor a site that keeps accounts of its own gives him. It
// may be called at any time.
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
		case !is || kind == accounts.QOS && slices.ContainsFunc(sites, func(s *federation.Site) bool { return allows(s, j.User, sp) }):
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

// allows reports whether a site that keeps accounts gives a user the QOS that a job names.
func allows(s *federation.Site, user string, sp *sbatch.Spec) bool {
	if s.Seen == nil {
		return false
	}
	return slices.ContainsFunc(s.Seen.Associations[s.UserName(user)], func(a federation.Association) bool {
		return (sp.Account == "" || strings.EqualFold(a.Account, sp.Account)) && slices.Contains(a.QOS, sp.QOS)
	})
}

// charged sets the account that a run of j is charged to: settled, which it was bound with, or else the account tree's. What the site runs it under is kept
// beside. Where nobody has accounts but the site, its word counts; an account of the tree pays only for those who are in it.
func (c *shared) charged(settled string, j *job, sj *federation.SiteJob) {
	told := sj.Account
	if settled == "" {
		settled = c.payer(&j.Job)
	}
	if settled == "" && !c.hasAccount(told) {
		settled = told
	}
	if sj.Account = settled; told != settled {
		sj.SiteAccount = told
	}
}

// payer is the account of the tree that pays for a job: the one that it was submitted under, as long as the tree has it; "": there is none.
func (c *shared) payer(j *federation.Job) string {
	if p := c.payers(); p != nil {
		if j.TreeAccount != accounts.Root && c.hasAccount(j.TreeAccount) {
			return j.TreeAccount
		}
		return p.Account(j.User, j.Spec.Account)
	}
	return ""
}

// paysAnew has the account pay that a changed job names, if it has not started.
func (c *shared) paysAnew(j *job) {
	a := j.att
	if payer := c.payer(&j.Job); a.Started.IsZero() && payer != a.Held.Account {
		c.unreserve(j)
		a.Held.Account = payer
		c.reserve(j)
		c.batch.attempt(a)
	}
}

func (c *shared) payers() federation.Payers {
	if c.cfg.Quota == nil {
		return nil
	}
	return c.cfg.Quota.Payers()
}

// hasAccount reports whether the tree has an account.
func (c *shared) hasAccount(name string) bool {
	return c.payers() != nil && c.cfg.Quota.Tree().Get(accounts.AccountKey(strings.ToLower(name))) != nil
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
	w.Since, w.Payer = j.att.Created, j.att.Held.Account
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
	w := quota.WantOf(j, o, prices, c.cfg.Policy.RunFraction)
	w.Payer = c.payer(j)
	return w
}
