package controller

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/place"
	"fsub/sbatch"
)

// update is scontrol update. Of a job that waits here only the Spec changes, and it is planned for anew; of one that was handed over
// the site is told. What its site refuses while the job has not started is a reason to look for another site.
func (rq *requests) update(j *job, r action.Request) {
	a := &asked{Request: r}
	spec, err := federation.ChangedSpec(&j.Job, r.Change, r.At)
	if err != nil { // checked when it was asked for
		rq.asks.refuse(j, a, err)
		return
	}
	if spec.Dependency != j.Spec.Dependency {
		if err := rq.depends.ring(j, spec.Dependency); err != nil {
			rq.asks.refuse(j, a, err)
			return
		}
	}
	rq.batch.eventf(j, "changed by %s: %s", r.Who(), changesText(r.Change))
	rq.changePriority(j, r)
	depends := spec.Dependency != j.Spec.Dependency || spec.Name != j.Spec.Name && j.depends.names != nil
	switch {
	case depends && j.Attempt > 0: // after a crash a job that was handed over once waits for no other any more
		rq.asks.refuse(j, a, fmt.Errorf("%w: its dependency was met", federation.ErrConflict))
	case !j.live() || reflect.DeepEqual(spec, *j.Spec):
		rq.changeHere(j, spec)
		rq.asks.answer(a)
	default:
		a.spec = &spec
		rq.asks.open[j.ID] = a
	}
}

func changesText(changes []sbatch.Change) string {
	var out []string
	for _, ch := range changes {
		out = append(out, ch.Key+"="+ch.Value)
	}
	return strings.Join(out, " ")
}

// changePriority does what the Spec does not hold: priority 0 holds, an operator's number counts.
func (rq *requests) changePriority(j *job, r action.Request) {
	for _, ch := range r.Change {
		if ch.Option != "priority" {
			continue
		}
		n, hold := federation.PriorityOf(ch.Value)
		switch {
		case hold != federation.NotHeld:
			rq.hold(j, r, nil)
		case n > 0 && r.Operator:
			rq.setPriority(j, uint32(min(n, math.MaxUint32)), 0)
		default:
			rq.release(j, r)
		}
	}
}

// changeLimit changes how many tasks of an array may run at once, and returns the changes that are for the tasks.
func (rq *requests) changeLimit(j *job, changes []sbatch.Change) (rest []sbatch.Change) {
	for _, ch := range changes {
		if ch.Option != "array-limit" {
			rest = append(rest, ch)
			continue
		}
		j.Whole.Limit, _ = strconv.Atoi(ch.Value) // checked when it was asked for
		if j.rest.Len() > 0 {
			j.setArray(j.rest.Format(j.Whole.Limit))
		}
		rq.batch.job(j)
		rq.arrays.offerAnew(j)
		for _, p := range j.taskJobs {
			if p.queued {
				rq.queue.look(p)
			}
		}
	}
	return rest
}

// updateAt tells the site, in the name of as. before and after are copies: the controller goes on meanwhile.
func updateAt(s *site, ref federation.JobRef, as string, j *job, spec *sbatch.Spec) func(context.Context) error {
	u, before, after := s.can.Update, j.Job, j.Job
	before.Partition, after.Partition = j.att.Partition, j.att.Partition
	after.SetSpec(*spec)
	if spec.Partition != j.Spec.Partition && !slices.Contains(strings.Split(spec.Partition, ","), after.Partition) {
		after.Partition, _, _ = strings.Cut(spec.Partition, ",")
	}
	place.AtSite(&s.Site, &before)
	place.AtSite(&s.Site, &after)
	return func(ctx context.Context) error {
		if u == nil {
			return fmt.Errorf("%w: its driver cannot change jobs", federation.ErrInvalid)
		}
		return u.Update(ctx, ref, as, &before, &after)
	}
}

// updated takes in what the site said to an update.
func (rq *requests) updated(j *job, a *asked, err error) {
	switch {
	case err == nil:
		rq.changeHere(j, *a.spec)
		rq.asks.answer(a)
	case j.att.State == federation.AttemptSubmitted && j.whole == nil:
		rq.batch.eventf(j, "not changed at %s: %v; taken back to look for another site", j.att.Site, err)
		a.stop, a.at = true, rq.now()
		rq.repairAsked()
	default:
		rq.asks.refuse(j, a, err)
	}
}

// changeHere makes spec what the job asks for.
func (rq *requests) changeHere(j *job, spec sbatch.Spec) {
	depends := spec.Dependency != j.Spec.Dependency || spec.Name != j.Spec.Name && j.depends.names != nil
	if j.Whole != nil && spec.Array != "" {
		j.Whole.Limit = federation.ArrayLimit(spec.Array)
		rq.arrays.lookAll(j)
	}
	if rq.limits.book != nil && spec.Account != j.Spec.Account {
		j.TreeAccount = rq.limits.book.Tree().JobAccount(j.User, spec.Account)
	}
	j.SetSpec(spec)
	if j.Whole != nil {
		j.join().taskSpec = nil
	}
	rq.depends.lookAt(rq.depends.names.join(j))
	rq.batch.job(j)
	rq.batch.spec(j)
	if j.hindered != &notHindered {
		h := j.hinder()
		h.leaves, h.asideUntil = nil, time.Time{}
		j.hinder().tellLeaves()
	}
	if j.live() {
		rq.queue.world.Release(j.att.Site, j.ID) // what it holds there may be something else
		rq.limits.paysAnew(j)
	}
	rq.arrays.offerAnew(j)
	rq.agenda.plan = true
	if !depends || j.live() {
		return
	}
	rq.depends.anew(j)
}
