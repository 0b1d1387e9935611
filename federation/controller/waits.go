package controller

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/depend"
	"fsub/federation/reasons"
)

// waitsNow is what the controller alone knows of what keeps a job waiting. The rest of it is in the store: see waits.
type waitsNow struct {
	known    bool // the controller has the job
	restored bool
	aside    time.Time // zero: it is not
	terms    []termNow
	before   federation.JobID // singleton: the namesake that comes first; 0: none is known
	names    bool             // singleton: some namesake comes first
	limit    int              // of its array; 0: it has not been reached
	running  int              // tasks of it
	said     string           // what its site says of Reason
	path     time.Duration    // see workflows.left
	place    *decision.Place  // what holds its place at a site; nil: nothing
}

// termNow is a term of a dependency that is not met.
type termNow struct {
	depend.Term
	never bool
	until time.Time // of a delay that has begun
	root  *termNow  // of a job that has not ended and can never start itself: what keeps it from that, or the one whom it waits for, and so on
}

func (fc *forecasts) waitsNow(id federation.JobID) (w waitsNow) {
	j := fc.jobs.Of(id)
	if j == nil {
		return w
	}
	w.known, w.said, w.path = true, j.said, fc.depends.workflows.left(id)
	if j.live() {
		return w
	}
	w.place = fc.promises.anyPlaceOf(j)
	now := fc.now()
	w.restored = fc.comparing.holds(j)
	if now.Before(j.asideUntil) {
		w.aside = j.asideUntil
	}
	if d := &j.depends; d.reason(now) != "" || j.spreads() {
		w.terms = d.unmet(&j.rest, now)
		for i := range w.terms {
			w.terms[i].root = fc.rootOf(w.terms[i], now)
		}
		if d.names != nil && d.names.before(j.ID) {
			if w.names = true; len(d.names.live) > 0 && d.names.live[0] < j.ID {
				w.before = d.names.live[0]
			}
		}
	}
	switch {
	case j.spreads() && j.Whole.Limit > 0 && j.running() >= j.Whole.Limit:
		w.limit, w.running = j.Whole.Limit, j.running()
	case j.limit() > 0 && j.array.running() >= j.limit():
		w.limit, w.running = j.limit(), j.array.running()
	}
	return w
}

// mostLinks bounds how far it is looked for the job that has broken a chain.
const mostLinks = 100_000

// rootOf is what keeps the job that a term waits for from ever starting: a term about a job that has ended. nil: nothing does.
func (fc *forecasts) rootOf(t termNow, now time.Time) (root *termNow) {
	for range mostLinks {
		on := fc.jobs.Of(t.Job)
		if !t.never || on == nil || !on.hopeless {
			break
		}
		terms := on.depends.unmet(&on.rest, now)
		i := slices.IndexFunc(terms, func(t termNow) bool { return t.never })
		if i < 0 {
			break
		}
		t = terms[i]
		root = &t
	}
	return root
}

// unmet are the terms that keep a job waiting. Of an array they are for the first task of rest that is kept.
func (d *dependency) unmet(rest *federation.TaskSet, now time.Time) (all []termNow) {
	for i := range d.terms {
		t := &d.terms[i]
		switch {
		case t.byTask != nil:
			for index := range rest.All() {
				if r := d.taskReason(index, now); r != "" {
					term := depend.Term{Kind: depend.AfterOK, Job: t.Job, Task: index}
					all = append(all, termNow{Term: term, never: r == reasons.DependencyNever})
					break
				}
			}
		case t.met && t.Delay > 0 && now.Before(t.from.Add(t.Delay)):
			all = append(all, termNow{Term: t.Term, until: t.from.Add(t.Delay)})
		case d.any && t.never && d.reason(now) != reasons.DependencyNever: // another one may be met
		case !t.met:
			all = append(all, termNow{Term: t.Term, never: t.never})
		}
	}
	return all
}

// waits is what keeps a job that waits from being sent to a site, the most important first. What is in the store is read there: a dependency's other job may have ended long ago.
func (v *View) waits(ctx context.Context, j *federation.Job, now waitsNow) (all []decision.Wait) {
	id := j.ID.String()
	if j.Held != federation.NotHeld {
		all = append(all, heldWait(j))
	}
	if begin := j.Spec.Begin; v.now().Before(begin) {
		all = append(all, decision.Wait{Reason: reasons.BeginTime, Why: codes.Because(codes.WaitBegin), Until: begin.UTC(),
			Advice: []*codes.Why{codes.Because(codes.AdviseBegin, id)}})
	}
	if now.restored {
		all = append(all, decision.Wait{Reason: reasons.Restored, Why: codes.Because(codes.WaitRestored)})
	}
	if !now.aside.IsZero() {
		all = append(all, decision.Wait{Reason: reasons.Fault, Why: codes.Because(codes.WaitFault), Until: now.aside.UTC()})
	}
	all = append(all, v.dependWaits(ctx, j, now)...)
	if now.limit > 0 {
		array := j.ID
		if j.Part != nil {
			array = j.Part.Array
		}
		all = append(all, decision.Wait{Reason: reasonTaskLimit, Why: codes.Because(codes.WaitTasks, tasksText(now.limit), strconv.Itoa(now.limit), strconv.Itoa(now.running)),
			Advice: []*codes.Why{codes.Because(codes.AdviseTasks, array.String())}})
	}
	if j.Reason == reasons.CloudQueue && j.Site != "" {
		why := codes.Because(codes.WaitCloudQueue, string(j.Site))
		if now.said != "" {
			why.Args = append(why.Args, now.said)
		}
		all = append(all, decision.Wait{Reason: j.Reason, Why: why})
	}
	return all
}

// heldWait says who holds a job.
func heldWait(j *federation.Job) decision.Wait {
	id := j.ID.String()
	w := decision.Wait{Reason: reasons.HeldUser, Why: codes.Because(codes.WaitHeld), Advice: []*codes.Why{codes.Because(codes.AdviseRelease, id)}}
	if j.Held == federation.HeldAdmin {
		w.Reason, w.Advice[0] = reasons.HeldAdmin, codes.Because(codes.AdviseOperator, id)
	}
	h := j.Holder
	if h == nil {
		return w
	}
	w.Since = h.At
	switch {
	case h.Why != nil:
		if w.Why = h.Why; h.Why.Code == codes.WaitRestoredArray {
			w.Advice = append([]*codes.Why{codes.Because(codes.AdviseLook, id)}, w.Advice...)
		}
	case h.By != "":
		w.Why = codes.Because(codes.WaitHeldBy, h.By)
	}
	return w
}

// dependWaits are the terms of a job's dependency that are not met.
func (v *View) dependWaits(ctx context.Context, j *federation.Job, now waitsNow) (all []decision.Wait) {
	id := j.ID.String()
	without := codes.Because(codes.AdviseDependency, id)
	for _, t := range now.terms {
		w := decision.Wait{Reason: reasons.Dependency, Until: t.until.UTC()}
		if t.until.IsZero() {
			w.Until = time.Time{}
		}
		name, state := v.dependedOn(ctx, t)
		if w.Advice = []*codes.Why{without}; t.never {
			w.Reason, w.Advice = reasons.DependencyNever, []*codes.Why{codes.Because(codes.AdviseCancel, id), without}
		}
		switch {
		case t.root != nil:
			of, how := v.dependedOn(ctx, *t.root)
			w.Why = codes.Because(codes.WaitNeverStart, name, of, how)
		case !t.until.IsZero():
			w.Why = codes.Because(codes.WaitDelay, t.Delay.String(), name)
		case t.never && t.Kind == depend.AfterNotOK:
			w.Why = codes.Because(codes.WaitNeverFailure, name, state)
		case t.never:
			w.Why = codes.Because(codes.WaitNeverSuccess, name, state)
		case t.Kind == depend.After:
			w.Why = codes.Because(codes.WaitStart, name, state)
		case t.Kind == depend.AfterAny:
			w.Why = codes.Because(codes.WaitEnd, name, state)
		case t.Kind == depend.AfterNotOK:
			w.Why = codes.Because(codes.WaitFailure, name, state)
		default:
			w.Why = codes.Because(codes.WaitSuccess, name, state)
		}
		all = append(all, w)
	}
	if now.names {
		w := decision.Wait{Reason: reasons.Dependency, Why: codes.Because(codes.WaitNamesakes), Advice: []*codes.Why{without}}
		if now.before != 0 {
			name, state := v.dependedOn(ctx, termNow{Term: depend.Term{Job: now.before, Task: -1}})
			w.Why = codes.Because(codes.WaitNamesake, name, state)
		}
		all = append(all, w)
	}
	return all
}

// dependedOn names the job, or the task of an array, that a term is about, and says what has become of it. Of an array that can never fulfil the term it is a task
// that has failed.
func (v *View) dependedOn(ctx context.Context, t termNow) (name, state string) {
	name, state = t.Job.String(), "not known any more"
	jobs, err := v.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{t.Job}})
	if err != nil {
		return name, state
	}
	tasks, err := v.store.Tasks(ctx, t.Job)
	if err != nil {
		tasks = nil
	}
	for i := range jobs {
		switch j := &jobs[i]; {
		case j.Part != nil:
			tasks = append(tasks, j.Task())
		case j.ID == t.Job:
			state = stateText(j.State, j.ExitStatus)
			if k, cancelled := j.CancelledTask(t.Task); cancelled {
				tasks = append(tasks, k)
			}
		}
	}
	if t.Task >= 0 {
		name, state = fmt.Sprintf("%d_%d", t.Job, t.Task), string(federation.Pending)
	}
	bad := 0
	for i := range tasks {
		k := &tasks[i]
		switch {
		case k.Index == t.Task:
			return name, stateText(k.State, k.ExitStatus)
		case t.Task < 0 && t.never && t.Kind != depend.AfterNotOK && k.State.Ended() && k.State != federation.Completed:
			if bad++; bad == 1 {
				name, state = fmt.Sprintf("%d_%d", t.Job, k.Index), stateText(k.State, k.ExitStatus)
			}
		}
	}
	if bad > 1 {
		state += fmt.Sprintf(" (and %d more of its tasks)", bad-1)
	}
	return name, state
}

// tasksText is "3 tasks".
func tasksText(n int) string {
	if n == 1 {
		return "1 task"
	}
	return strconv.Itoa(n) + " tasks"
}

// stateText is "FAILED, exit code 3".
func stateText(s federation.State, exit int32) string {
	switch code, signal := exit>>8, exit&0x7f; {
	case !s.Ended():
	case signal != 0:
		return fmt.Sprintf("%s, signal %d", s, signal)
	case code != 0:
		return fmt.Sprintf("%s, exit code %d", s, code)
	}
	return string(s)
}
