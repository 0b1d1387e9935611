package ledger

import (
	"cmp"
	"time"
)

// Merge is what the books say of a run of which they say old, once they have read n too, and whether that is anything new. Its result depends on what was
// read, not on the order or on how often: the site's accounting says what was held and when, its later answer before the earlier one; of what was used, the most
// counts; the federation's own charge says at which price and for whom, and stands for the rest until the site is heard.
func Merge(old, n Entry) (Entry, bool) {
	job := n.Kind == SiteJob || n.Kind == OwnJob
	if old.Source == 0 {
		if job && n.Source == FromSite {
			n.bill()
		}
		return n, true
	}
	// A charge never changes: that of old is as good as that of n.
	own, said := &old, n
	if old.Source&FromRun == 0 {
		own = &n
	}
	const told = FromSite | FromBill
	switch {
	case n.Source&told == 0 && old.Source&FromRun != 0:
		return old, false
	case n.Source&told == 0 || old.Source&told != 0 && older(&n, &old):
		said = old
	case old.Source&told != 0 && n.TRES == old.TRES: // the price of when it was booked first
		said.PerHour = old.PerHour
	}
	said.measured(&old, &n)
	switch {
	case own.Source&FromRun != 0:
		said = said.with(own)
	case job:
		said.bill()
	}
	return said, said != old
}

// older reports whether n was read before what is there, or says nothing that is to be preferred to it. Answers of one moment have an order too. The amount of
// a job's run follows from the rest.
func older(n, old *Entry) bool {
	a, b := &n.Group, &old.Group
	order := cmp.Or(cmp.Compare(n.ReadAt, old.ReadAt), cmp.Compare(n.End, old.End), cmp.Compare(n.TRES, old.TRES), cmp.Compare(n.State, old.State), cmp.Compare(n.Start, old.Start),
		cmp.Compare(n.Suspended, old.Suspended), cmp.Compare(n.Wait, old.Wait), cmp.Compare(n.Limit, old.Limit), cmp.Compare(n.Submit, old.Submit),
		cmp.Compare(a.Account, b.Account), cmp.Compare(a.QOS, b.QOS), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Name, b.Name), cmp.Compare(a.JobGroup, b.JobGroup))
	if order == 0 && n.Kind != SiteJob && n.Kind != OwnJob {
		order = cmp.Compare(n.Amount, old.Amount)
	}
	return order <= 0
}

// measured has the most that either knows of what was used: an answer without steps says nothing of it, and steps are only added.
func (e *Entry) measured(a, b *Entry) {
	if e.CPUUsed, e.GPUUsed = max(a.CPUUsed, b.CPUUsed), max(a.GPUUsed, b.GPUUsed); e.Kind == SiteJob || e.Kind == OwnJob {
		e.Fate = FateOf(e.State, int64(len(e.Group.GPU)), e.GPUUsed)
	}
}

// with is what a site's accounting and a charge of the same run say together.
func (e Entry) with(own *Entry) Entry {
	e.Source |= own.Source & (FromRun | Priced | Redone)
	e.Group.User, e.Group.Account = own.Group.User, own.Group.Account // who pays; the site may have it under another one
	e.Group.JobGroup = own.Group.JobGroup                             // which no site knows
	e.DearestPerHour, e.ListPerHour, e.FirstPerHour = own.DearestPerHour, own.ListPerHour, own.FirstPerHour
	if own.Source&Priced != 0 {
		e.PerHour, e.Rented = own.PerHour, own.Rented
	}
	if own.Source&Redone != 0 { // the site may not know that what it cancelled is to be done again
		e.Fate = Lost
	}
	e.bill()
	return e
}

// bill sets what a job's run came to from its price and its time.
func (e *Entry) bill() { e.Amount = e.PerHour.For(e.billed()) }

// billed is the time that e is billed for.
func (e *Entry) billed() time.Duration {
	held := e.Elapsed()
	if !e.Rented {
		held = max(held-e.Suspended, 0)
	}
	return time.Duration(min(held, 1<<33)) * time.Second // 272 years: no clock is right about more
}
