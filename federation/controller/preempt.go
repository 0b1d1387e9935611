package controller

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/health"
	"fsub/federation/quota"
)

// preempts has jobs make room for others, as placement has decided. The decision stands in the attempt of the job that they make room for, which is durable
// before anything is done to them, and is decided once: that job waits at the one site, and the site itself gives it the nodes when they are free. What is done
// follows from the attempt alone. So a new daemon goes on where the last one stopped: who has made room has another run by then, or none.
//
// A victim gets its own --signal, or TERM, and is requeued or cancelled when its grace is over. It is spared if the other job has started, was cancelled or
// moved: one that runs on after its grace is no victim any more, and what becomes of it then is its own.
type preempts struct {
	now   func() time.Time
	log   *slog.Logger
	sites *roster
	jobs  *jobTable
	batch *pendingBatch
	book  *quota.Book

	by     map[string]*seizure            // the attempts that others make room for, by key
	told   map[federation.JobID]time.Time // victims that have got their signal, or were asked to end, and until when nothing more is done
	next   time.Time
	looked bool // for those that an earlier daemon has left marked
}

// seizure is one attempt that others make room for.
type seizure struct {
	job  *job // nil: it is not known any more
	key  string
	site federation.SiteName
	*decision.Preemption
	over time.Time // since when nobody need make room; zero: they have to
}

const (
	preemptEach  = time.Second
	preemptAgain = time.Minute // until a victim is asked to end once more
	// spentFor is how long after others had to make room for a job nobody does again, should it have come back to the queue.
	spentFor = 5 * time.Minute
)

// note remembers that others make room for a job.
func (pr *preempts) note(j *job) {
	if p := j.att.Decision.Preempt; p != nil && p.By != decision.PreemptBySite && !j.att.State.Final() {
		pr.by[j.att.Key] = &seizure{job: j, key: j.att.Key, site: j.att.Site, Preemption: p}
	}
}

// stands reports whether the attempt of a seizure goes on.
func (z *seizure) stands(jobs *jobTable) bool {
	return z.job != nil && jobs.Of(z.job.ID) == z.job && z.job.live() && z.job.att.Key == z.key
}

// of is what a seizure wants of the run of a job that is under way; nil: nothing.
func (z *seizure) of(j *job) *decision.Victim {
	if z.site != j.att.Site {
		return nil
	}
	for i := range z.Victims {
		if v := &z.Victims[i]; v.Job == j.ID && v.Restarts == j.Restarts {
			return v
		}
	}
	return nil
}

// victim is what was decided of a job that has to make room; nil if it need not.
func (pr *preempts) victim(of *job) *decision.Victim {
	for _, z := range pr.by {
		if v := z.of(of); v != nil {
			return v
		}
	}
	return nil
}

// mark remembers, for later daemons too, that a job was told to make room.
func (pr *preempts) mark(j *job) {
	if !j.isVictim() {
		j.att.Class, j.att.Code = federation.ClassPreempt, health.CodePreempted
		pr.batch.attempt(j.att)
	}
}

// isVictim reports whether what runs of a job was told to make room for another one.
func (j *job) isVictim() bool { return !j.att.State.Final() && j.att.Class == federation.ClassPreempt }

// endedAs is the state in which a job has ended that got its signal to make room: as in Slurm, whatever it made of that counts as a preemption.
func (pr *preempts) endedAs(j *job, state federation.State) federation.State {
	if !j.isVictim() || j.Cancel {
		return state
	}
	v := pr.victim(j)
	switch {
	case state == federation.Failed, state == federation.Cancelled, state == federation.Completed && v != nil && v.Grace > 0:
		if v != nil && v.Mode == decision.PreemptCancel {
			j.Cancel, j.CancelBy = true, 0
		}
		return federation.Preempted
	}
	return state
}

// reconcile goes on with what has been decided.
func (pr *preempts) reconcile() {
	now := pr.now()
	if !pr.looked {
		pr.looked = true
		pr.findMarked(now)
	}
	if len(pr.by) == 0 || now.Before(pr.next) {
		return
	}
	pr.next = now.Add(preemptEach)
	for _, key := range slices.Sorted(maps.Keys(pr.by)) {
		z := pr.by[key]
		j, stands := z.job, z.stands(pr.jobs)
		started := stands && j.att.State == federation.AttemptStarted
		switch {
		case !stands || started && now.Sub(j.att.Started) > preemptAgain:
			if z.over.IsZero() {
				z.over = now
			}
			if pr.spare(z) {
				delete(pr.by, key)
			}
		case started: // its victims' ends may be seen later than its start
		case j.Cancel || j.att.State != federation.AttemptSubmitted || pr.sites.byName[j.att.Site] == nil: // nothing is done before the site has the job: it may refuse it
		default:
			for i := range z.Victims {
				pr.makeRoom(j, z.Preemption, &z.Victims[i], now)
			}
		}
	}
	for id, until := range pr.told {
		if now.After(until) && pr.jobs.Of(id) == nil {
			delete(pr.told, id)
		}
	}
}

// spare has those who no longer has to make room, and run on, be victims no longer. It reports whether none is left. Until its grace is over, and the site was
// polled since, a job may have ended because of its signal.
func (pr *preempts) spare(z *seizure) (done bool) {
	done = true
	for i := range z.Victims {
		j := pr.jobs.Of(z.Victims[i].Job)
		if j == nil || !j.live() || !j.isVictim() || z.of(j) == nil || pr.wanted(j) {
			continue
		}
		s, until := pr.sites.byName[z.site], pr.told[j.ID]
		if until.Before(z.over) {
			until = z.over
		}
		if s == nil || !s.polled.After(until) || j.State == federation.Completing || j.Cancel {
			done = false
			continue
		}
		delete(pr.told, j.ID)
		j.att.Class, j.att.Code = federation.ClassNone, ""
		pr.batch.attempt(j.att)
		pr.batch.eventf(j, "no longer has to make room")
	}
	return done
}

// wanted reports whether somebody needs the room of a job still.
func (pr *preempts) wanted(j *job) bool {
	for _, z := range pr.by {
		if z.over.IsZero() && z.of(j) != nil {
			return true
		}
	}
	return false
}

// findMarked looks for jobs that an earlier daemon has told to make room, for others that are not there any more. When their grace ends is not known:
// it counts from now.
func (pr *preempts) findMarked(now time.Time) {
	for _, s := range pr.sites.all {
		for _, j := range s.jobs {
			if !j.live() || !j.isVictim() || pr.victim(j) != nil {
				continue
			}
			z := &seizure{key: j.att.Key, site: s.Name, over: now, Preemption: &decision.Preemption{Victims: []decision.Victim{{Job: j.ID, Restarts: j.Restarts}}}}
			if pr.book != nil {
				if rules := pr.book.Preempting(); rules != nil {
					q := rules.QOS[rules.Of(&j.Job)]
					z.Victims[0].Mode, z.Victims[0].Grace = q.Mode, q.Grace
				}
			}
			pr.told[j.ID] = now.Add(z.Victims[0].Grace)
			pr.by[z.key] = z
		}
	}
}

// due is when a victim's grace is over.
func (pr *preempts) due(sooner func(time.Time)) {
	if len(pr.by) > 0 {
		sooner(pr.next)
	}
}

// makeRoom takes one victim a step further.
func (pr *preempts) makeRoom(j *job, p *decision.Preemption, v *decision.Victim, now time.Time) {
	victim := pr.jobs.Of(v.Job)
	if victim == nil || !victim.live() || victim.att.Site != j.att.Site || victim.Restarts != v.Restarts || victim.att.State != federation.AttemptStarted || victim.Cancel ||
		victim.State == federation.Pending {
		return // it has made room
	}
	until, told := pr.told[v.Job]
	r := action.Request{Job: v.Job, Operator: true, Restarts: v.Restarts, At: now.UTC()}
	ends := j.att.Acked.Add(v.Grace)
	switch {
	case told && now.Before(until):
	case v.Mode == decision.PreemptMove:
		pr.told[v.Job] = now.Add(v.Grace + preemptAgain)
		pr.move(j, v, r)
	case now.Before(ends):
		pr.told[v.Job] = ends
		pr.mark(victim)
		r.Kind, r.Signal = action.Signal, endSignal(victim)
		pr.batch.request(r)
		pr.batch.eventf(victim, "has to make room for job %s %s at %s: signal %s, to be ended at %s", j.ID, p.For(), j.att.Site, r.Signal.Name, ends.UTC().Format(time.DateTime))
	default:
		pr.told[v.Job] = now.Add(preemptAgain)
		pr.mark(victim)
		r.Kind = action.Requeue
		how := "requeued"
		if v.Mode == decision.PreemptCancel || victim.Spec.Requeue != nil && !*victim.Spec.Requeue {
			r.Kind, how = action.Cancel, "cancelled"
		}
		pr.batch.request(r)
		pr.batch.eventf(victim, "%s to make room for job %s %s at %s: QOS %s may be preempted, and %s of its work is lost", how, j.ID, p.For(), j.att.Site, v.QOS, v.Lost.Round(time.Second))
		pr.log.Info("job preempted", "job", v.Job, "site", j.att.Site, "for", j.ID, "how", how)
	}
}

// move asks a job to go on elsewhere to make room: it leaves if that is wanted still when its site is told.
func (pr *preempts) move(j *job, v *decision.Victim, r action.Request) {
	if v.Moved == nil {
		return
	}
	r.Kind, r.Move = action.Move, &action.Relocation{From: j.att.Site, Running: true, Stay: true, For: j.ID, Why: v.Moved.Text()}
	pr.batch.request(r)
}

// leaves reports whether a job that is to go on elsewhere leaves, as a gang waits at its site for its nodes. What that saves and costs stands in the job's attempt from now on: where it does already,
// an earlier daemon may have told the site. waits: nothing else is asked of the gang.
func (pr *preempts) leaves(victim *job, gang federation.JobID, waits bool) (leaves, before bool) {
	past := victim.att.Moved
	if past != nil && past.For == gang && past.Run.Equal(victim.att.Started) {
		return true, true
	}
	for _, z := range pr.by {
		v := z.of(victim)
		if !waits || v == nil || v.Moved == nil || z.job == nil || z.job.ID != gang || !z.stands(pr.jobs) || z.job.Cancel || z.job.att.State != federation.AttemptSubmitted {
			continue
		}
		m := *v.Moved
		m.Run, m.Count = victim.att.Started, 1
		if past != nil {
			m.Count += past.Count
		}
		victim.att.Moved = &m
		pr.batch.attempt(victim.att)
		return true, false
	}
	return false, false
}

// endSignal is what a job gets before it is ended: its own --signal, or TERM.
func endSignal(j *job) federation.Signal {
	if own := j.Spec.Signal; own != nil {
		return federation.Signal{Name: own.Name, Batch: own.BatchOnly, Full: !own.BatchOnly}
	}
	return federation.Signal{Name: "TERM", Full: true}
}

// spent reports whether others have made room for a job lately, and when that does not count any more.
func (j *job) spent(now time.Time) (until time.Time, is bool) {
	if j.att == nil || j.att.Decision.Preempt == nil {
		return time.Time{}, false
	}
	until = j.att.Created.Add(spentFor)
	return until, now.Before(until)
}

// say writes into a job's history who makes room for it.
func (pr *preempts) say(j *job) {
	p := j.att.Decision.Preempt
	if p == nil {
		return
	}
	who := "the federation ends them"
	if p.Moves() {
		who = "they go on elsewhere"
	}
	if p.By == decision.PreemptBySite {
		who = fmt.Sprintf("%s is left to choose, as it preempts by itself", j.att.Site)
	}
	pr.batch.eventf(j, "at %s %s; %s", j.att.Site, p.Text(), who)
}
