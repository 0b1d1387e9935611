package controller

import (
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/decision"
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
func (l *limits) charged(settled string, j *job, sj *federation.SiteJob) {
	told := sj.Account
	if settled == "" {
		settled = l.payer(&j.Job)
	}
	if settled == "" && !l.hasAccount(told) {
		settled = told
	}
	if sj.Account = settled; told != settled {
		sj.SiteAccount = told
	}
}

// payer is the account of the tree that pays for a job: the one that it was submitted under, as long as the tree has it; "": there is none.
func (l *limits) payer(j *federation.Job) string {
	if p := l.payers(); p != nil {
		if j.TreeAccount != accounts.Root && l.hasAccount(j.TreeAccount) {
			return j.TreeAccount
		}
		return p.Account(j.User, j.Spec.Account)
	}
	return ""
}

// paysAnew has the account pay that a changed job names, if it has not started.
func (l *limits) paysAnew(j *job) {
	a := j.att
	if payer := l.payer(&j.Job); a.Started.IsZero() && payer != a.Held.Account {
		l.unreserve(j)
		a.Held.Account = payer
		l.reserve(j)
		l.batch.attempt(a)
	}
}

func (l *limits) payers() federation.Payers {
	if l.book == nil {
		return nil
	}
	return l.book.Payers()
}

// hasAccount reports whether the tree has an account.
func (l *limits) hasAccount(name string) bool {
	return l.payers() != nil && l.book.Tree().Get(accounts.AccountKey(strings.ToLower(name))) != nil
}

// reserve takes what a live attempt may come to. It follows from the job and from what it was bound for, so that a later daemon takes the same.
func (l *limits) reserve(j *job) {
	if l.book == nil || len(j.att.Decision.Offers) == 0 {
		return
	}
	w := l.wants(&j.Job, j.att.Decision.Offers[0])
	w.Since, w.Payer = j.att.Created, j.att.Held.Account
	l.book.Take(j.ID, w)
}

func (l *limits) unreserve(j *job) {
	if l.book != nil {
		l.book.Release(j.ID)
	}
}

// hold reports whether any limit holds for a job.
func (l *limits) hold(j *federation.Job) bool {
	return l.book != nil && l.book.Limited(&quota.Want{User: j.User, Account: j.Spec.Account, QOS: j.Spec.QOS, Payer: l.payer(j)})
}

// wants is what a job may hold at most, as far as it is known.
func (l *limits) wants(j *federation.Job, o *decision.Offer) quota.Want {
	var prices map[string]float64
	if o != nil {
		if s := l.sites.byName[o.Site]; s != nil {
			prices = s.Prices
		}
	}
	w := quota.WantOf(j, o, prices, l.fraction)
	w.Payer = l.payer(j)
	return w
}
