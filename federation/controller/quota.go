package controller

import (
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/quota"
)

// limits are those of the account tree, and who pays for a job.
type limits struct {
	book     *quota.Book // nil: there are none
	fraction float64     // of its time limit that a job is taken to run
	sites    *roster
	batch    *pendingBatch
}

// charged sets the account that a run of j is charged to: settled, which it was bound with, or else the account tree's. What the site runs it under is kept
// beside. Where nobody has accounts but the site, its word counts; an account of the tree pays only for those who are in it.
func (c *limits) charged(settled string, j *job, sj *federation.SiteJob) {
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
func (c *limits) payer(j *federation.Job) string {
	if p := c.payers(); p != nil {
		if j.TreeAccount != accounts.Root && c.hasAccount(j.TreeAccount) {
			return j.TreeAccount
		}
		return p.Account(j.User, j.Spec.Account)
	}
	return ""
}

// paysAnew has the account pay that a changed job names, if it has not started.
func (c *limits) paysAnew(j *job) {
	a := j.att
	if payer := c.payer(&j.Job); a.Started.IsZero() && payer != a.Held.Account {
		c.unreserve(j)
		a.Held.Account = payer
		c.reserve(j)
		c.batch.attempt(a)
	}
}

func (c *limits) payers() federation.Payers {
	if c.book == nil {
		return nil
	}
	return c.book.Payers()
}

// hasAccount reports whether the tree has an account.
func (c *limits) hasAccount(name string) bool {
	return c.payers() != nil && c.book.Tree().Get(accounts.AccountKey(strings.ToLower(name))) != nil
}

// reserve takes what a live attempt may come to. It follows from the job and from what it was bound for, so that a later daemon takes the same.
func (c *limits) reserve(j *job) {
	if c.book == nil || len(j.att.Decision.Offers) == 0 {
		return
	}
	w := c.wants(&j.Job, j.att.Decision.Offers[0])
	w.Since, w.Payer = j.att.Created, j.att.Held.Account
	c.book.Take(j.ID, w)
}

func (c *limits) unreserve(j *job) {
	if c.book != nil {
		c.book.Release(j.ID)
	}
}

// wants is what a job may hold at most, as far as it is known.
func (c *limits) wants(j *federation.Job, o *federation.Offer) quota.Want {
	var prices map[string]float64
	if o != nil {
		if s := c.sites.byName[o.Site]; s != nil {
			prices = s.Prices
		}
	}
	w := quota.WantOf(j, o, prices, c.fraction)
	w.Payer = c.payer(j)
	return w
}
