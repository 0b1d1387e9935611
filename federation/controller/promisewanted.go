package controller

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/driver"
	"fsub/federation/place"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// planned takes in what a plan keeps for gangs; nil: nothing. Tasks of an array that share jobs have none: which of them will be in one is not known before.
func (ps *promises) planned(w *place.World) {
	clear(ps.places)
	any := false
	for _, s := range ps.sites.all {
		if s.can.Reserve != nil && s.Answering && !s.breaker.open {
			ps.at(s).planned = true
		}
		any = any || s.promises
	}
	if w == nil || !any {
		return
	}
	for p := range place.Places(w) {
		of := decision.Promised{Job: p.Job}
		if o := ps.arrays.offered[p.Job]; o != nil {
			if size, _ := o.array.packSize(); size > 1 {
				continue
			}
			of = promisedTo(o.task)
		} else if j := ps.jobs.Of(p.Job); j != nil {
			of = promisedTo(&j.Job)
		}
		if ps.places[p.Site] == nil {
			ps.places[p.Site] = map[decision.Promised]place.Place{}
		}
		ps.places[p.Site][of] = p
	}
}

// promisedTo names a job in reservations. A task of an array has the same name before it is bound and after: the number that it is offered under is another one in each daemon.
func promisedTo(j *federation.Job) decision.Promised {
	if j.Part != nil {
		return decision.Promised{Array: j.Part.Array, Task: j.Part.Index}
	}
	return decision.Promised{Job: j.ID}
}

// jobOf is the job that a place is for; of a task that is no job yet, the array. nil: it has ended.
func (ps *promises) jobOf(of decision.Promised) *job {
	j := ps.jobs.Of(of.Of())
	if j == nil || of.Array == 0 {
		return j
	}
	if task := j.taskJobs[of.Task]; task != nil || !j.rest.Has(of.Task) {
		return task
	}
	return j
}

// placeText is what a job's history calls the place.
func placeText(j *job, of decision.Promised) string {
	if of.Array != 0 && j.ID == of.Array {
		return fmt.Sprintf("the place of task %d", of.Task)
	}
	return "its place"
}

// waitsHere reports whether a job waits in the federation's queue, or the task of an array that is no job yet.
func waitsHere(j *job, of decision.Promised) bool {
	if !j.queued || j.live() || j.Held != federation.NotHeld || j.Cancel {
		return false
	}
	return j.State == federation.Pending || of.Array == j.ID // of which other tasks run
}

// hasReservation reports whether a job names a reservation itself.
func hasReservation(j *job) bool {
	named := func(s sbatch.Spec) bool { return s.Reservation != "" }
	return named(*j.Spec) || slices.ContainsFunc(j.Spec.Het, named)
}

// wanted are the reservations that a site is to have: of gangs for which the newest plan keeps a place, and of jobs that wait there in one. One whose job runs cannot be removed.
func (ps *promises) wanted(s *site, p *sitePromises, now time.Time) map[decision.Promised]driver.Promise {
	places := ps.places[s.Name]
	if !s.promises || s.State != federation.FedActive || !s.Lost.IsZero() {
		places = nil
	}
	if len(p.there)+len(places) == 0 {
		return nil
	}
	want := map[decision.Promised]driver.Promise{}
	for of, h := range p.there {
		if w, is := ps.bound(s, of, h, now); is {
			want[of] = w
		}
	}
	for of, at := range places {
		j := ps.jobOf(of)
		if j == nil || !waitsHere(j, of) || hasReservation(j) {
			continue
		}
		if h := p.there[of]; at.Shared && (h == nil || h.Name == "") { // it would pass by those who wait there already
			continue
		}
		long := promiseFor
		if at.Limit > 0 {
			long = min(long, at.Limit)
		}
		start := at.Start
		if h := p.there[of]; h != nil && h.Name != "" && now.Before(h.Start) {
			switch into, near := runsInto(s, h.Start, now); {
			case into:
				start = start.Add(promiseMargin)
			case near && h.Start.After(start) && h.Start.Sub(start) <= promiseMargin+promiseSlack: // it has moved for that job
				start = h.Start
			}
		}
		want[of] = driver.Promise{Name: driver.PromiseName(ps.federation, of), User: s.user(&j.Job).Name, Nodes: at.Nodes, Start: start, End: start.Add(long), Idle: promiseIdle}
	}
	return want
}

// runsInto reports whether a job of ours that waits at a site would run into a reservation by little if it started now, or would not by little.
func runsInto(s *site, begin, now time.Time) (into, near bool) {
	for _, j := range s.jobs {
		if !j.live() || j.att.State == federation.AttemptStarted {
			continue
		}
		if limit := limitAt(s, &j.Job, j.att.Partition); limit > 0 {
			off := now.Add(limit).Sub(begin)
			into = into || off > 0 && off <= promiseMargin
			near = near || off.Abs() <= promiseMargin+promiseSlack
		}
	}
	return into, near
}

// bound is the reservation that a job is to have which was given to the site with one.
func (ps *promises) bound(s *site, of decision.Promised, h *promised, now time.Time) (w driver.Promise, is bool) {
	j := ps.jobOf(of)
	if j == nil || !j.live() || j.att.Site != s.Name || j.att.Decision.Place == nil {
		return w, false
	}
	kept, state := j.att.Decision.Place, j.att.State
	onTime, long := now.Sub(kept.Start) < promiseMost, min(promiseFor, kept.End.Sub(kept.Start))
	w = h.Promise
	w.User, w.Idle = s.user(&j.Job).Name, promiseIdle
	switch {
	case w.Name == kept.Reservation && state == federation.AttemptStarted: // it cannot be removed while its job runs, which may have started sooner, and elsewhere
		if soon := now.Add(promiseOver); w.End.After(soon) {
			w.Start, w.End = earlier(w.Start, now), soon
		}
		return w, true
	case w.Name == kept.Reservation:
		if onTime && w.Start.Before(now) {
			w.End = later(w.End, now.Add(long))
		}
		return w, true
	case w.Name == "" && state == federation.AttemptIntended && onTime && s.promises: // it was idle for too long, while the job's files were brought there
		nodes, err := hostlist.Expand(kept.Nodes)
		w.Name, w.Nodes, w.Start, w.End = kept.Reservation, nodes, later(kept.Start, now), later(kept.Start, now).Add(long)
		return w, err == nil
	}
	return w, false
}

// placeOf is the reservation that a site has for a job; nil: none.
func (ps *promises) placeOf(of decision.Promised, at federation.SiteName) *decision.Place {
	p := ps.of[at]
	if p == nil || p.there[of] == nil || p.there[of].Name == "" {
		return nil
	}
	h := p.there[of]
	return &decision.Place{Site: at, Reservation: h.Name, Nodes: hostlist.Compress(h.Nodes), Start: h.Start, End: h.End}
}

// anyPlaceOf is the same wherever it is. Of an array it is that of the task which starts first.
func (ps *promises) anyPlaceOf(j *job) (first *decision.Place) {
	own := promisedTo(&j.Job)
	for _, s := range ps.sites.all {
		if ps.of[s.Name] == nil {
			continue
		}
		for of := range ps.of[s.Name].there {
			if of != own && of.Array != j.ID {
				continue
			}
			if p := ps.placeOf(of, s.Name); p != nil && (first == nil || p.Start.Before(first.Start) || p.Start.Equal(first.Start) && p.Reservation < first.Reservation) {
				first = p
			}
		}
	}
	return first
}

// into is the name of the reservation that an attempt is submitted into; "": none.
func into(a *federation.Attempt) string {
	return cmp.Or(a.Decision.Place, new(decision.Place)).Reservation
}

// inOrder are the keys of what is kept by whom it is for.
func inOrder[V any](m map[decision.Promised]V) []decision.Promised {
	all := make([]decision.Promised, 0, len(m))
	for of := range m {
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b decision.Promised) int {
		return cmp.Or(cmp.Compare(a.Of(), b.Of()), cmp.Compare(a.Task, b.Task))
	})
	return all
}
