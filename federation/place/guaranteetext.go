package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// mostDetails is how many of the jobs that have borrowed are told of one by one.
const mostDetails = 100

// Holdbacks tell how guarantees bear on a job that waits by the plan: what its own account is guaranteed and holds, and which jobs stand before it because they are
// within guarantees of others. There are none where guarantees do not matter to it.
func (w *World) Holdbacks(id federation.JobID) []decision.Holdback {
	q, g := w.index.of(id), &w.guarantees
	if q == nil || g.of == nil || len(g.taken) != len(g.of.Accounts) || q.shape == nil || w.progress.decided(q).fate == nil || q.fate.kind.bound() {
		return nil
	}
	c := q.waitsFor(&w.plan)
	if c == nil {
		return nil
	}
	var out []decision.Holdback
	if r := g.rightTo(q, c); r != nil {
		h := decision.Holdback{Kind: decision.HeldByGuarantee, Text: g.standing(r.in, c) + ": the job is within that, and comes before those that borrow"}
		w.keeps(r, &h)
		out = append(out, h)
	} else if q.claim != 0 {
		out = append(out, g.borrows(int(q.claim)-1, c))
	}
	return append(out, g.before(q, c)...)
}

// waitsFor is the candidate that a job waits for, nil if it waits for none, or has components.
func (q *queued) waitsFor(pl *plan) *candidate {
	o := q.fate.offers.first(pl)
	if o == nil {
		return nil
	}
	for _, c := range q.shape.candidates {
		if c.parts == nil && c.site.site.Name == o.Site && c.name == o.Pool {
			return c
		}
	}
	return nil
}

// standing is "account physics is guaranteed gres/gpu=8 and holds gres/gpu=4", of what the candidate takes.
func (g *guarantees) standing(account int, c *candidate) string {
	var most, holds []string
	for _, name := range slices.Sorted(maps.Keys(g.of.Accounts[account].TRES)) {
		if c.takes(name) > 0 {
			most = append(most, fmt.Sprintf("%s=%d", name, g.of.Accounts[account].TRES[name]))
			holds = append(holds, fmt.Sprintf("%s=%d", name, g.of.Held[account][name]+g.taken[account][name]))
		}
	}
	return fmt.Sprintf("account %s is guaranteed %s and holds %s", g.of.Accounts[account].Account, strings.Join(most, ","), strings.Join(holds, ","))
}

// borrows is what there is to say of a job that is within no guarantee of its accounts.
func (g *guarantees) borrows(account int, c *candidate) decision.Holdback {
	h := decision.Holdback{Kind: decision.HeldByGuarantee}
	at := string(c.site.site.Name) + " " + c.name
	a := &g.of.Accounts[account]
	var needs []string
	for _, name := range slices.Sorted(maps.Keys(a.TRES)) {
		if n := c.takes(name); n > 0 {
			needs = append(needs, fmt.Sprintf("%s=%d", name, max(a.TRES[name], g.of.Held[account][name]+g.taken[account][name]+n)))
		}
	}
	if len(needs) == 0 {
		h.Text = fmt.Sprintf("account %s is guaranteed nothing of what the job takes at %s: it borrows, and nothing is left there to borrow", a.Account, at)
		return h
	}
	h.Text = g.standing(account, c) + fmt.Sprintf(": the job would borrow, and nothing is left to borrow at %s", at)
	for i := a.Above; i >= 0; i = g.of.Accounts[i].Above {
		h.Details = append(h.Details, g.standing(i, c))
	}
	h.Free = []string{fmt.Sprintf("with Guarantee=%s of account %s it comes before those that borrow", strings.Join(needs, ","), a.Account)}
	return h
}

// before are the jobs that wait for the same pool and come first because they are within guarantees of accounts that the job does not belong to.
func (g *guarantees) before(q *queued, c *candidate) (out []decision.Holdback) {
	jobs := map[int][]string{}
	for _, p := range g.first {
		if p == q || p.turn.compare(q.turn) > 0 || p.fate.kind.bound() {
			continue
		}
		account := g.of.Up(int(p.claim)-1, maxAbove-int(p.turn.index>>indexBits))
		wants := slices.ContainsFunc(p.shape.candidates, func(d *candidate) bool { return d.parts == nil && d.site == c.site && d.name == c.name })
		if account >= 0 && wants && !g.of.Below(int(q.claim)-1, account) {
			jobs[account] = append(jobs[account], fmt.Sprintf("job %s of %s", jobText(p.job), p.job.User))
		}
	}
	for _, account := range slices.Sorted(maps.Keys(jobs)) {
		n := fmt.Sprintf("%d jobs come first", len(jobs[account]))
		if len(jobs[account]) == 1 {
			n = "1 job comes first"
		}
		out = append(out, decision.Holdback{Kind: decision.HeldByGuarantee, Details: jobs[account],
			Text: fmt.Sprintf("%s at %s %s, within a guarantee: %s", n, c.site.site.Name, c.name, g.standing(account, c))})
	}
	return out
}

// keeps says why a job that is within a guarantee waits all the same: who has borrowed there, and why he is not ended.
func (pl *plan) keeps(r *right, h *decision.Holdback) {
	st := r.c.site
	switch by := st.site.Preempt; {
	case by == decision.PreemptByNone:
		h.Text += fmt.Sprintf("; nobody is ended for it at %s, where preempt is off", st.site.Name)
		return
	case by == decision.PreemptBySite:
		h.Text += fmt.Sprintf("; %s preempts by itself, and knows of no guarantees", st.site.Name)
		return
	case r.c.shared():
		h.Text += fmt.Sprintf("; nobody is ended for it at %s, where jobs of others wait too", st.site.Name)
		return
	case pl.preempting == nil:
		return
	}
	stays, exempt := map[string]int{}, time.Time{}
	borrowed := 0
	ours := st.ourJob()
	for i := range st.model.obs.Running {
		id := st.model.obs.Running[i].Job
		j := ours(id)
		if j == nil || !r.back(&preemptible{job: j, returns: true, account: pl.guarantees.accountOf(j)}) {
			continue
		}
		borrowed++
		qos := pl.qosOf(j)
		rules := pl.preempting.QOS[qos]
		switch until := j.Start.Add(rules.Exempt); {
		case !rules.Returns:
			stays[qos]++
			h.Details = append(h.Details, fmt.Sprintf("job %d of %s has borrowed, and is not ended: PreemptMode of QOS %s", id, j.User, qos))
		case until.After(pl.clock):
			if exempt.IsZero() || until.Before(exempt) {
				exempt = until
			}
			h.Details = append(h.Details, fmt.Sprintf("job %d of %s has borrowed, and is not ended until %s: PreemptExemptTime of QOS %s", id, j.User, until.UTC().Format(time.RFC3339), qos))
		}
	}
	slices.Sort(h.Details)
	if more := len(h.Details) - mostDetails; more > 0 {
		h.Details = append(h.Details[:mostDetails:mostDetails], fmt.Sprintf("and %d more", more))
	}
	if borrowed == 0 {
		h.Text += fmt.Sprintf("; nobody at %s has borrowed from it", st.site.Name)
		return
	}
	if !exempt.IsZero() {
		h.Free = append(h.Free, fmt.Sprintf("from %s on a job that has borrowed may be ended for it (PreemptExemptTime)", exempt.UTC().Format(time.RFC3339)))
	}
	for _, qos := range slices.Sorted(maps.Keys(stays)) {
		h.Free = append(h.Free, fmt.Sprintf("with PreemptMode=requeue of QOS %s, %d that have borrowed may be ended for it", qos, stays[qos]))
	}
	if len(h.Free) > 0 {
		h.Text += fmt.Sprintf("; nodes borrowed at %s are not returned before those jobs end", st.site.Name)
	}
}
