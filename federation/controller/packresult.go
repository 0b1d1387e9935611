package controller

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/lifecycle"
	"fsub/federation/pack"
	"fsub/federation/reasons"
)

// What the site says of a pack, and the script of the pack of its tasks.

// reportPack takes in what a site says of a pack.
func (rp *reports) reportPack(s *site, p *job, sj *federation.SiteJob) {
	p.try().seen(rp.now())
	rp.limits.charged(p.att.Held.Account, p, sj)
	k := p.known(s)
	switch k.Read(sj) {
	case lifecycle.GivenBack:
		rp.life.finishAttempt(p, federation.AttemptWithdrawn, "given back: "+string(sj.Reason))
		rp.life.dissolve(p, func(m *job) {
			back := p.pack.taskReport(m, federation.Pending)
			back.Returned, back.Reason, back.Detail = true, sj.Reason, sj.Detail
			rp.returned(s, m, back)
		})
		return
	case lifecycle.QueuedAgain:
		return
	case lifecycle.StartLost:
		p.try().lostStart = true
		return
	}
	a := p.att
	if p.try().lostStart = false; a.Acked.IsZero() {
		a.Acked = rp.now().UTC()
	}
	if a.SiteSubmit.IsZero() {
		a.SiteSubmit = sj.Submit
	}
	if sj.SiteJobID != 0 {
		a.SiteJobID = sj.SiteJobID
	}
	p.Account = sj.Account
	p.pack.taken(rp.batch)
	switch {
	case sj.State.Ended():
		p.pack.last, p.pack.readAt = sj, time.Time{}
	case sj.State.Started():
		if p.State == federation.Pending {
			rp.agenda.plan = true
		}
		p.pack.last = sj
		p.State, p.Start, p.Nodes = sj.State, sj.Start, sj.Nodes
		a.Started, a.Nodes, a.Held = sj.Start, sj.Nodes, sj.Held()
		rp.batch.advance(p, federation.AttemptStarted)
	default:
		p.State, p.Start = federation.Pending, time.Time{}
		rp.batch.advance(p, federation.AttemptSubmitted)
		for _, m := range p.pack.members {
			if m.State == federation.Pending && m.Held == federation.NotHeld && m.Reason != sj.Reason {
				m.Reason = sj.Reason
				rp.batch.job(m)
			}
		}
	}
}

// taskReport is a report of a task of a pack, as its site would make one if it knew of it: it holds its share of what the pack does.
func (k *packed) taskReport(m *job, state federation.State) federation.SiteJob {
	sj := federation.SiteJob{}
	if k.last != nil {
		sj = *k.last
	}
	n := k.side
	sj.ID, sj.Key, sj.SiteJobID, sj.State, sj.Submit, sj.Limit = m.ID, m.att.Key, k.job.att.SiteJobID, state, k.job.att.SiteSubmit, m.Spec.TimeLimit
	sj.CPUs, sj.TRES, sj.PricePerHour = nth(sj.CPUs, n), shareTRES(sj.TRES, n), sj.PricePerHour/federation.Money(n)
	sj.Start, sj.End, sj.ExitStatus, sj.Restarts, sj.Output, sj.Earlier, sj.Suspension = time.Time{}, time.Time{}, 0, 0, "", nil, federation.Suspension{}
	sj.Detail, sj.Reason, sj.FromAccounting, sj.Completing = "", reasons.None, false, false
	return sj
}

// nth is the n-th part of an amount, rounded up.
func nth(amount, n int) int { return (amount + n - 1) / n }

// shareTRES is one of n equal parts of what a job holds: "cpu=8,mem=4000M". A node is whole to each.
func shareTRES(tres string, n int) string {
	if n == 1 || tres == "" {
		return tres
	}
	items := strings.Split(tres, ",")
	for i, item := range items {
		name, amount, _ := strings.Cut(item, "=")
		digits := strings.TrimRight(amount, "KMGTP")
		if v, err := strconv.Atoi(digits); err == nil && name != "node" {
			items[i] = name + "=" + strconv.Itoa(nth(v, n)) + amount[len(digits):]
		}
	}
	return strings.Join(items, ",")
}

// takeRead takes in what scripts of packs have written.
func (ps *packs) takeRead(s *site, r packsRead) {
	now := ps.now()
	for i, id := range r.packs {
		p := ps.jobs.packs[id]
		if p == nil {
			continue
		}
		k := p.pack
		k.reading, k.readAt = false, now.Add(packsEvery)
		err, wait := r.err, homeFor
		if err == nil && r.texts[i] == nil {
			err, wait = errNoStatus, time.Minute
		}
		if err == nil {
			k.failing = time.Time{}
			ps.apply(s, p, pack.Read(r.texts[i]))
			continue
		}
		if k.failing.IsZero() {
			k.failing = now
			ps.log.Warn("read how the tasks of a pack go", "job", p.ID, "site", s.Name, "err", err)
		}
		if k.readAt = now.Add(ps.t.backoff(3)); k.over() && now.Sub(k.failing) >= wait {
			for _, m := range k.members {
				ps.batch.eventf(m, "how it ended at %s is not known: %v", s.Name, err)
			}
			ps.settle(s, p, pack.Status{})
		}
	}
}

// apply brings the tasks of a pack in line with what its script says.
func (ps *packs) apply(s *site, p *job, st pack.Status) {
	members := append([]*job(nil), p.pack.members...)
	for _, m := range members {
		r := st.Tasks[m.Part.Index]
		switch {
		case r.Done():
			p.pack.leave(m)
			ps.done(s, p, m, &r)
		case !r.Start.IsZero() && m.State == federation.Pending && !p.pack.over():
			sj := p.pack.taskReport(m, federation.Running)
			sj.Start = r.Start
			ps.reports.report(s, m, sj)
		}
	}
	if p.pack.over() {
		ps.settle(s, p, st)
	}
}

// done takes in the end of a task.
func (ps *packs) done(s *site, p, m *job, r *pack.Result) {
	sj := p.pack.taskReport(m, federation.Completed)
	sj.Start, sj.End, sj.ExitStatus = r.Start, r.End, r.ExitStatus
	asked := m.Cancel || ps.asks.open[m.ID] != nil
	switch {
	case r.Why == pack.Limit:
		sj.State, sj.Reason = federation.Timeout, reasons.TimeLimit
	case (r.Why == pack.Killed || r.Why == pack.Skipped) && !asked: // it is held
		sj.State, sj.Returned = federation.Pending, true
		sj.Reason = reasons.HeldUser
	case r.Why == pack.Killed || r.Why == pack.Skipped, asked && p.pack.told[m]: // the second with all others, and whatever it ended with, as at a site
		sj.State = federation.Cancelled
	case r.ExitStatus != 0:
		sj.State, sj.Reason = federation.Failed, reasons.NonZeroExit
	}
	ps.reports.report(s, m, sj)
}

// settle ends a pack whose job is over at its site. Tasks that have ended have done so; one that was running ends as the job did, and those that had not begun
// wait again. Where none has begun, all end as the job did.
func (ps *packs) settle(s *site, p *job, st pack.Status) {
	k := p.pack
	if k.lost != "" {
		p.att.Class, p.att.Code = federation.ClassSite, k.code
		ps.life.finishAttempt(p, federation.AttemptForgotten, k.lost)
	} else {
		ps.life.finishAttempt(p, federation.AttemptEnded, "")
	}
	unseen := k.lost == "" && st.Up.IsZero() && k.last.State == federation.Failed && k.last.ExitStatus>>8 == pack.Unseen
	if unseen {
		ps.life.unpack(p, fmt.Sprintf("node %s does not see %s", k.last.Nodes, p.Spec.WorkDir))
	}
	live := p.liveRun
	ps.life.dissolve(p, func(m *job) {
		r := st.Tasks[m.Part.Index]
		begun := !r.Start.IsZero()
		if k.lost != "" {
			m.hinder().liveRun = live
			ps.life.lose(m, begun || m.att.State == federation.AttemptStarted, k.code, k.lost)
			return
		}
		ps.reports.report(s, m, p.pack.lastReport(m, &r, st.Up, unseen, m.Cancel || ps.asks.open[m.ID] != nil))
	})
	ps.agenda.plan = true
	status, control := pack.Names(p.Spec.WorkDir, p.ID)
	owner, id := p.Job, p.ID
	ps.calls.add(s, packTold{pack: id}, func(ctx context.Context) any {
		return packTold{pack: id, err: ps.files.Remove(ctx, &owner, []string{status, control})}
	})
}

// lastReport is what becomes of a task with the job that it shares.
func (k *packed) lastReport(m *job, r *pack.Result, up time.Time, unseen, asked bool) federation.SiteJob {
	last := k.last
	sj := k.taskReport(m, last.State)
	sj.End, sj.ExitStatus, sj.Reason, sj.Detail = last.End, last.ExitStatus, last.Reason, last.Detail
	begun := !r.Start.IsZero()
	again := false
	switch {
	case begun:
		sj.Start = r.Start
		if sj.End.Before(sj.Start) {
			sj.End = sj.Start
		}
		switch last.State {
		case federation.Completed: // its script was killed
			sj.State, sj.ExitStatus = federation.Failed, 9
		case federation.Timeout:
			limit := limitOf(&m.Job)
			again = limit == 0 || sj.End.Sub(sj.Start) < limit
		}
	case asked, last.State == federation.Cancelled:
		sj.State, sj.ExitStatus = federation.Cancelled, 0
	case up.IsZero() && !unseen && last.State != federation.Completed:
		sj.Start = last.Start
	default:
		again = true
	}
	if again {
		sj.State, sj.Returned, sj.Reason, sj.Detail = federation.Pending, true, reasons.Resources, "the job that it shared is over"
	}
	return sj
}

// dissolve forgets a pack whose attempt is over, and does something with each of its tasks.
func (l *life) dissolve(p *job, each func(m *job)) {
	members := p.pack.members
	for _, m := range members {
		m.join().in = nil
	}
	p.pack.members = nil
	delete(l.jobs.packs, p.ID)
	l.queue.look(p.array)
	for _, m := range members {
		each(m)
	}
}

// packBack returns the tasks of a pack to the queue, whose attempt has not run them.
func (l *life) packBack(p *job, reason reasons.Reason) {
	l.dissolve(p, func(m *job) {
		m.att.Class, m.att.Code = p.att.Class, p.att.Code
		l.finishAttempt(m, p.att.State, p.att.Note)
		for _, away := range p.leaves {
			m.leaveOut(away.no, away.until)
		}
		l.backToQueue(m, reason)
	})
}

// endPack ends the tasks of a pack that has never run. Of one that was cancelled those that are to go on do.
func (l *life) endPack(p *job, state federation.State, reason reasons.Reason, at time.Time) {
	l.dissolve(p, func(m *job) {
		l.finishAttempt(m, p.att.State, p.att.Note)
		if state == federation.Cancelled && !m.Cancel {
			l.backToQueue(m, reasons.None)
			return
		}
		m.att.Class, m.ExitStatus = p.att.Class, p.ExitStatus
		l.end(m, state, reason, at)
	})
}

// losePack gives up the job of a pack. What has become of its tasks is read before they are.
func (l *life) losePack(p *job, code federation.FailureCode, note string) {
	k := p.pack
	p.try().retry = l.now().Add(l.t.CancelEach)
	if k.lost != "" {
		return
	}
	k.lost, k.code, k.readAt = cmp.Or(note, health.What(code)), code, time.Time{}
}
