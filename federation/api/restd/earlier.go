package restd

import (
	"context"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/reasons"
)

// withEarlier puts before each job that has run several times its earlier runs, as slurmdbd keeps them: each attempt that had started, and of each attempt the runs
// that its site has requeued by itself. What they have measured is not kept.
func (s *Lister) withEarlier(ctx context.Context, list []Part) ([]Part, error) {
	out := make([]Part, 0, len(list))
	for i := range list {
		p := &list[i]
		if p.Job.Restarts > 0 && (p.task == nil || p.Job.Part != nil) && p.Job.Component == nil {
			attempts, err := s.Store.Attempts(ctx, p.Job.ID)
			if err != nil {
				return nil, answer.OfStore(err, answer.NoContact)
			}
			for n, run := range runsOf(attempts, p.State.Ended()) {
				out = append(out, earlier(p, &run, n))
				p.cost -= run.Cost
			}
		}
		out = append(out, *p)
	}
	return out, nil
}

// siteRun is a run with where it was.
type siteRun struct {
	federation.AttemptRun
	site      federation.SiteName
	partition string
}

// runsOf are the runs before the job's last one. Of a job that has ended, that is the last attempt's own end.
func runsOf(attempts []federation.Attempt, ended bool) (runs []siteRun) {
	for i := range attempts {
		a := &attempts[i]
		for _, r := range a.Runs {
			runs = append(runs, siteRun{r, a.Site, a.Partition})
		}
		last := i == len(attempts)-1
		if !a.Final.Ended() || a.Started.IsZero() || last && ended {
			continue
		}
		r := federation.AttemptRun{State: a.Final, Started: a.Started, Ended: a.Ended, Nodes: a.Nodes, ExitStatus: a.ExitStatus, Cost: a.Cost}
		if r.State == federation.Cancelled { // to be queued again
			r.State = federation.Requeued
		}
		runs = append(runs, siteRun{r, a.Site, a.Partition})
	}
	return runs
}

// earlier is the nth run of a job, from 0.
func earlier(p *Part, r *siteRun, n int) Part {
	j, run := *p.Job, *p
	j.Site, j.Partition, j.Cancel = r.site, r.partition, false
	run.Job, run.earlier, run.pending = &j, true, ""
	run.State, run.reason, run.nodes, run.start, run.End = r.State, reasons.None, r.Nodes, r.Started, r.Ended
	run.exit, run.restarts, run.suspension = r.ExitStatus, n, r.Suspension
	run.cost = r.Cost
	return run
}
