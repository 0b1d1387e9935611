package controller

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/health"
)

// preempts has jobs make room for others, as placement has decided. The decision stands in the attempt of the job that they make room for, which is durable
// before anything is done to them, and is decided once: that job waits at the one site, and the site itself gives it the nodes when they are free. What is done
// follows from the attempt alone. So a new daemon goes on where the last one stopped: who has made room has another run by then, or none.
//
// A victim gets its own --signal, or TERM, and is requeued or cancelled when its grace is over. It is spared if the other job has started, was cancelled or moved.
type preempts struct {
	*shared
	next time.Time
}

// seizing is what is under way: the jobs that others make room for, and what those were told.
type seizing struct {
	jobs map[federation.JobID]*job
	told map[federation.JobID]time.Time // victims that have got their signal, or were asked to end, and until when nothing more is done
}

const (
	preemptEach  = time.Second
	preemptAgain = time.Minute // until a victim is asked to end once more
	// spentFor is how long after others had to make room for a job nobody does again, should it have come back to the queue.
	spentFor = 5 * time.Minute
)

func newSeizing() seizing {
	return seizing{map[federation.JobID]*job{}, map[federation.JobID]time.Time{}}
}

// note remembers that others make room for a job.
func (c *shared) notePreemption(j *job) {
	if p := j.att.Decision.Preempt; p != nil && p.By != federation.PreemptBySite && !j.att.State.Final() {
		c.seizing.jobs[j.ID] = j
	}
}

// victim is what was decided of a job that has to make room; nil if it need not.
func (c *shared) victim(of *job) *federation.Victim {
	for _, j := range c.seizing.jobs {
		if !j.live() || j.att.Decision.Preempt == nil || j.att.Site != of.att.Site {
			continue
		}
		for i := range j.att.Decision.Preempt.Victims {
			if v := &j.att.Decision.Preempt.Victims[i]; v.Job == of.ID && v.Restarts == of.Restarts {
				return v
			}
		}
	}
	return nil
}

// markVictim remembers, for later daemons too, that a job was told to make room.
func (c *shared) markVictim(j *job) {
	if !j.isVictim() {
		j.att.Class, j.att.Code = federation.ClassPreempt, health.CodePreempted
		c.batch.attempt(j.att)
	}
}

// isVictim reports whether what runs of a job was told to make room for another one.
func (j *job) isVictim() bool { return !j.att.State.Final() && j.att.Class == federation.ClassPreempt }

// endedAsVictim is the state in which a job has ended that got its signal to make room: as in Slurm, whatever it made of that counts as a preemption.
func (c *shared) endedAsVictim(j *job, state federation.State) federation.State {
	if !j.isVictim() || j.Cancel {
		return state
	}
	v := c.victim(j)
	switch {
	case state == federation.Failed, state == federation.Cancelled, state == federation.Completed && v != nil && v.Grace > 0:
		if v != nil && v.Mode == federation.PreemptCancel {
			j.Cancel, j.CancelBy = true, 0
		}
		return federation.Preempted
	}
	return state
}

// reconcile goes on with what has been decided.
func (c *preempts) reconcile() {
	now := c.now()
	if len(c.seizing.jobs) == 0 || now.Before(c.next) {
		return
	}
	c.next = now.Add(preemptEach)
	for _, id := range slices.Sorted(maps.Keys(c.seizing.jobs)) {
		j := c.seizing.jobs[id]
		started := c.jobs[id] == j && j.live() && j.att.State == federation.AttemptStarted
		if c.jobs[id] != j || !j.live() || j.att.Decision.Preempt == nil || started && now.Sub(j.att.Started) > preemptAgain {
			delete(c.seizing.jobs, id)
			continue
		}
		if started { // its victims' ends may be seen later than its start
			continue
		}
		// Nothing is done before the site has the job: it may refuse it.
		if j.Cancel || j.att.State != federation.AttemptSubmitted || c.byName[j.att.Site] == nil {
			continue
		}
		p := j.att.Decision.Preempt
		for i := range p.Victims {
			c.makeRoom(j, p, &p.Victims[i], now)
		}
	}
	for id, until := range c.seizing.told {
		if now.After(until) && c.jobs[id] == nil {
			delete(c.seizing.told, id)
		}
	}
}

// due is when a victim's grace is over.
func (c *preempts) due(sooner func(time.Time)) {
	if len(c.seizing.jobs) > 0 {
		sooner(c.next)
	}
}

// makeRoom takes one victim a step further.
func (c *preempts) makeRoom(j *job, p *federation.Preemption, v *federation.Victim, now time.Time) {
	victim := c.jobs[v.Job]
	if victim == nil || !victim.live() || victim.att.Site != j.att.Site || victim.Restarts != v.Restarts || victim.att.State != federation.AttemptStarted || victim.Cancel ||
		victim.State == federation.Pending {
		return // it has made room
	}
	until, told := c.seizing.told[v.Job]
	r := federation.Request{Job: v.Job, Operator: true, Restarts: v.Restarts, At: now.UTC()}
	ends := j.att.Acked.Add(v.Grace)
	switch {
	case told && now.Before(until):
	case now.Before(ends):
		c.seizing.told[v.Job] = ends
		c.markVictim(victim)
		r.Kind, r.Signal = federation.RequestSignal, endSignal(victim)
		c.batch.request(r)
		c.event(victim, "has to make room for job %s of QOS %s at %s: signal %s, to be ended at %s", j.ID, p.QOS, j.att.Site, r.Signal.Name, ends.UTC().Format(time.DateTime))
	default:
		c.seizing.told[v.Job] = now.Add(preemptAgain)
		c.markVictim(victim)
		r.Kind = federation.RequestRequeue
		how := "requeued"
		if v.Mode == federation.PreemptCancel || victim.Spec.Requeue != nil && !*victim.Spec.Requeue {
			r.Kind, how = federation.RequestCancel, "cancelled"
		}
		c.batch.request(r)
		c.event(victim, "%s to make room for job %s of QOS %s at %s: QOS %s may be preempted, and %s of its work is lost", how, j.ID, p.QOS, j.att.Site, v.QOS, v.Lost.Round(time.Second))
		c.log.Info("job preempted", "job", v.Job, "site", j.att.Site, "for", j.ID, "how", how)
	}
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

// sayPreempting writes into a job's history who makes room for it.
func (c *shared) sayPreempting(j *job) {
	p := j.att.Decision.Preempt
	if p == nil {
		return
	}
	who := "the federation ends them"
	if p.By == federation.PreemptBySite {
		who = fmt.Sprintf("%s is left to choose, as it preempts by itself", j.att.Site)
	}
	c.event(j, "at %s %s; %s", j.att.Site, p.Text(), who)
}
