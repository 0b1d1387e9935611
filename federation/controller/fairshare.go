package controller

import (
	"time"

	"fsub/federation"
	"fsub/federation/fairshare"
	"fsub/federation/place"
)

// share ranks the users anew when that is due, and the jobs of the queue by it.
func (q *queue) share(now time.Time) {
	f := q.fairShare
	if f == nil || now.Before(f.Due()) {
		return
	}
	var running []fairshare.Running
	for _, s := range q.sites.all {
		for _, j := range s.jobs {
			if a := j.att; a != nil && a.State == federation.AttemptStarted && !a.Started.IsZero() {
				running = append(running, fairshare.Running{User: j.User, Account: a.Held.Account, Held: a.Held, Start: a.Started, Price: j.rent})
			}
		}
	}
	f.Partitions(q.jobFactors())
	switch changed := f.Pass(now, running); {
	case changed == fairshare.Same:
	case changed == fairshare.Ranks || q.world.Len() == 0:
		q.world.Regroup()
	default:
		q.world.Reorder()
	}
}

// jobFactors are PriorityJobFactor by partition: the highest one of those sites that have a partition of that name, and of all default ones under "".
func (q *queue) jobFactors() map[string]int {
	all := map[string]int{}
	for _, s := range q.sites.all {
		if s.Seen == nil {
			continue
		}
		for i := range s.Seen.Partitions {
			p := &s.Seen.Partitions[i]
			n := 1 // Slurm's default
			if p.Info != nil {
				n = p.Info.JobFactor
			}
			all[p.Name] = max(all[p.Name], n)
			if p.Default {
				all[""] = max(all[""], n)
			}
		}
	}
	return all
}

// left tells that a job does not wait any more, or that it is not known yet whether it does.
func (q *queue) left(id federation.JobID) {
	if q.fairShare != nil {
		q.fairShare.Left(id)
	}
}

// points are a job's priority.
func (q *queue) points(j *job) int64 {
	if q.fairShare != nil {
		return q.fairShare.Points(&j.Job, q.runs.expected(&j.Job))
	}
	return place.Priority(&j.Job)
}
