package controller

import (
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/depend"
	"fsub/federation/lifecycle"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// foretelling works out, in one round, when jobs start that wait for others or for a time, and when those others end. Nothing of it is kept.
type foretelling struct {
	*forecasts
	all   decision.Starts
	now   time.Time
	ends  map[federation.JobID]happens
	looks int // at placement, that are left
}

// happens is when something does: half of the time not before p50, nine times in ten not after p90. A zero p90 is not known; a zero p50 neither.
type happens struct{ p50, p90 time.Time }

// after is the later one of two spans of which both must have passed.
func (s happens) after(o happens) happens {
	l := happens{p50: later(s.p50, o.p50)}
	if !s.p90.IsZero() && !o.p90.IsZero() {
		l.p90 = later(later(s.p90, o.p90), l.p50)
	}
	return l
}

// plus is a time so much later.
func (s happens) plus(e *decision.Expected) happens {
	l := happens{p50: s.p50.Add(e.P50)}
	if !s.p90.IsZero() {
		l.p90 = s.p90.Add(e.P90)
	}
	return l
}

// foretellRest adds the jobs that wait for the end of others which is foretold, and for a begin time.
func (fc *forecasts) foretellRest(all decision.Starts, now time.Time) {
	f := &foretelling{forecasts: fc, all: all, now: now, ends: map[federation.JobID]happens{}, looks: mostForetold}
	for _, waits := range fc.depends.waits {
		for _, w := range waits {
			f.start(w.job)
		}
	}
	for j := range fc.queue.times.next {
		if now.Before(j.Spec.Begin) {
			f.start(j)
		}
	}
}

// start is when a job starts; false: nobody knows. That of one which waits for others or for a time is added to all.
func (f *foretelling) start(j *job) (happens, bool) {
	if s, known := f.all[j.ID]; known {
		return spanOf(&s), true
	}
	if !j.queued || j.live() || j.Held != federation.NotHeld || j.State != federation.Pending {
		return happens{}, false
	}
	free, known := f.free(j)
	if !known {
		return happens{}, false
	}
	if f.looks--; f.looks < 0 {
		return free, true
	}
	o := f.quote(j)
	if o == nil || f.overBudget(j, o) {
		return happens{}, false
	}
	s := o.Begins()
	at := free.after(spanOf(&s))
	s.Of = "from when the jobs that it depends on are expected to end"
	s.At, s.Within = at.p50.Truncate(time.Second), at.p90.Truncate(time.Second)
	f.all[j.ID] = s
	return at, true
}

func spanOf(s *decision.Start) happens {
	if s.Within.IsZero() { // by time limits, or by the site's word
		return happens{s.At, s.At}
	}
	return happens{s.At, s.Within}
}

// free is when neither other jobs nor its begin time keep a job back any more; false: nobody knows.
func (f *foretelling) free(j *job) (happens, bool) {
	at := happens{later(f.now, j.Spec.Begin), later(f.now, j.Spec.Begin)}
	reason := j.depends.reason(f.now)
	if reason == "" {
		return at, !j.depends.byTasks() || f.tasksFree(j, &at)
	}
	if reason != reasons.Dependency || j.depends.names != nil {
		return happens{}, false
	}
	first, any := happens{}, false
	for i := range j.depends.terms {
		t, known := f.term(&j.depends.terms[i])
		switch {
		case !j.depends.any && !known:
			return happens{}, false
		case !j.depends.any:
			at = at.after(t)
		case known && (!any || t.p50.Before(first.p50)):
			first, any = t, true
		}
	}
	if j.depends.any {
		return at.after(first), any
	}
	return at, true
}

// term is when a term of a dependency is met; false: nobody knows, or never.
func (f *foretelling) term(t *waitTerm) (happens, bool) {
	switch {
	case t.never:
		return happens{}, false
	case t.byTask != nil:
		return f.firstTask(t.byTask)
	case t.met:
		at := later(f.now, t.from.Add(t.Delay))
		return happens{at, at}, true
	}
	on := f.jobs.Of(t.Job)
	if on == nil {
		return happens{}, false
	}
	if t.Task >= 0 && on.taskJobs[t.Task] != nil {
		on = on.taskJobs[t.Task]
	}
	if t.Kind != depend.After {
		return f.end(on)
	}
	s, known := f.start(on)
	s.p50 = s.p50.Add(t.Delay)
	if !s.p90.IsZero() {
		s.p90 = s.p90.Add(t.Delay)
	}
	return s, known
}

// byTasks reports whether tasks of an array wait for those of another.
func (d *dependency) byTasks() bool {
	for i := range d.terms {
		if d.terms[i].byTask != nil {
			return true
		}
	}
	return false
}

// tasksFree moves a time to when the first task of an array may start that waits for one of another array.
func (f *foretelling) tasksFree(j *job, at *happens) bool {
	for i := range j.depends.terms {
		if on := j.depends.terms[i].byTask; on != nil {
			t, known := f.firstTask(on)
			if !known {
				return false
			}
			*at = at.after(t)
		}
	}
	return true
}

// firstTask is when the first task of an array ends of those that have not.
func (f *foretelling) firstTask(array *job) (first happens, known bool) {
	if array.State.Ended() {
		return happens{f.now, f.now}, true
	}
	for _, t := range array.taskJobs {
		if s, ok := f.end(t); ok && (!known || s.p50.Before(first.p50)) {
			first, known = s, true
		}
	}
	if s, told := f.all[array.ID]; told && !known {
		return spanOf(&s).plus(f.runs.lasts(array, 0)), true
	}
	return first, known
}

// end is when a job ends; false: nobody knows. Of an array it is the end of all its tasks that are known, and no p90 while others wait.
func (f *foretelling) end(j *job) (at happens, known bool) {
	if at, known = f.ends[j.ID]; known {
		return at, !at.p50.IsZero()
	}
	f.ends[j.ID] = happens{} // jobs that wait for each other in a ring do so for ever
	switch {
	case j.State.Ended():
		at, known = happens{f.now, f.now}, true
	case j.Whole != nil && j.Whole.Spread:
		for _, t := range j.taskJobs {
			s, ok := f.end(t)
			if !ok {
				return happens{}, false
			}
			at, known = at.after(s), true
		}
		if j.rest.Len() > 0 {
			s, ok := f.start(j)
			if !ok {
				return happens{}, false
			}
			at, known = happens{p50: later(at.p50, s.plus(f.runs.lasts(j, 0)).p50)}, true
		}
	case j.live() && j.att.State == federation.AttemptStarted && !j.att.Started.IsZero():
		at, known = happens{j.att.Started, j.att.Started}.plus(f.runs.lasts(j, lifecycle.Elapsed(j.att.Started, f.now))), true
	default:
		if at, known = f.start(j); known {
			at = at.plus(f.runs.lasts(j, 0))
		}
	}
	if known {
		f.ends[j.ID] = at
	}
	return at, known
}

// quote is what placement would offer a job now that comes last.
func (f *foretelling) quote(j *job) (o *decision.Offer) {
	if fault := f.queue.world.Guard(func() {
		o = f.queue.world.Quote(place.Waiting{Job: asTask(&j.Job), Refused: j.refused, Expected: f.runs.expected(&j.Job)})
	}); fault != nil {
		f.log.Error("placement failed", "job", j.ID, "err", fault)
	}
	return o
}

// overBudget reports whether the limits and budgets of the account tree keep a job from what it is offered, or have done so in the last plan: what has fallen free since may be
// for others that wait for it.
func (fc *forecasts) overBudget(j *job, o *decision.Offer) bool {
	if fc.limits.book == nil {
		return false
	}
	if r := string(j.Reason); j.Reason == reasons.AccountBudget || strings.HasPrefix(r, "Assoc") || strings.HasPrefix(r, "QOS") {
		return true
	}
	w := fc.limits.wants(asTask(&j.Job), o)
	return fc.limits.book.Check(fc.now(), &w) != nil
}
