package controller

import (
	"slices"
	"time"

	"fsub/federation"
)

// takeRestarts takes in that a site has queued a job again.
func (c *Controller) takeRestarts(s *site, j *job, sj *federation.SiteJob) {
	a := j.att
	takeRuns(a, sj, c.now())
	if sj.Restarts > a.Restarts {
		j.Restarts += sj.Restarts - a.Restarts
		a.Restarts = sj.Restarts
		c.event(j, "requeued by %s", s.Name)
	}
}

// takeRuns notes the runs that the site of an attempt has ended to queue the job again: by the site's own word, or as the last one was seen to run.
// A cluster sets the time of submission anew when it requeues a job. Of arrays that were handed over whole nothing is noted.
func takeRuns(a *federation.Attempt, sj *federation.SiteJob, now time.Time) {
	switch {
	case len(sj.Earlier) > 0:
		a.Runs = slices.Clone(sj.Earlier)
	case sj.Restarts > a.Restarts && !a.Started.IsZero() && len(sj.Tasks) == 0 && sj.PendingTasks == "":
		if n := len(a.Runs); n > 0 && a.Runs[n-1].Started.Equal(a.Started) {
			return
		}
		end := now.UTC()
		if sj.Submit.After(a.Started) && sj.Submit.Before(end) {
			end = sj.Submit
		}
		a.Runs = append(a.Runs, federation.AttemptRun{State: federation.Requeued, Started: a.Started, Ended: end, Nodes: a.Nodes})
	}
}

// costBefore is what the runs of an attempt before its last one came to, and notes it of each. The job has held then what it holds now.
func (c *Controller) costBefore(s *site, j *job, sj federation.SiteJob) (sum federation.Money) {
	for i := range j.att.Runs {
		r := &j.att.Runs[i]
		if r.Cost == 0 && j.size == 0 {
			then := sj
			then.Start, then.End, then.Suspension = r.Started, r.Ended, r.Suspension
			r.Cost = c.cost(s, j, then)
		}
		sum += r.Cost
	}
	return sum
}
