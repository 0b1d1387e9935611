package api

import (
	"context"

	"fsub/federation"
)

// withEarlier puts before each job that has run several times its earlier runs, as slurmdbd keeps them: one for each attempt that had started. What they have
// measured is not kept.
func (s *Server) withEarlier(ctx context.Context, list []part) ([]part, error) {
	out := make([]part, 0, len(list))
	for i := range list {
		p := &list[i]
		if p.job.Restarts > 0 && (p.task == nil || p.job.Part != nil) && p.job.Component == nil {
			attempts, err := s.cfg.Store.Attempts(ctx, p.job.ID)
			if err != nil {
				return nil, ofStore(err, errNoContact)
			}
			restarts := 0
			for k := range attempts {
				if a := &attempts[k]; a.Final.Ended() && !a.Started.IsZero() && !(p.state.Ended() && k == len(attempts)-1) {
					out = append(out, earlier(p, a, restarts))
					restarts++
				}
			}
		}
		out = append(out, *p)
	}
	return out, nil
}

// earlier is the run of a job that an attempt was.
func earlier(p *part, a *federation.Attempt, restarts int) part {
	j, run := *p.job, *p
	j.Site, j.Partition, j.Cancel = a.Site, a.Partition, false
	run.job, run.earlier, run.pending = &j, true, ""
	run.state, run.reason, run.nodes, run.start, run.end = a.Final, federation.ReasonNone, a.Nodes, a.Started, a.Ended
	run.exit, run.restarts = a.ExitStatus, restarts
	return run
}
