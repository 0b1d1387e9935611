package cloud

import (
	"slices"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/sbatch"
)

// shrink lets a run go on without a machine on which nothing of it lives any more, if its job has asked for that (--no-kill, --on-node-loss=shrink). The machine is no longer
// paid for, and no further step is placed there. Without its first machine, on which its script runs, no job goes on.
func (rs *runs) shrink(r *run, m *machine, why string) bool {
	j, i := r.job, slices.Index(r.machines, m)
	do, _ := j.Job.Spec.NodeLoss()
	switch {
	case do != sbatch.LossShrink, i <= 0, r.End != nil, r.Stop != nil, m.group.hosts() > 1, j.State != federation.Running && j.State != federation.Suspended:
		return false
	case !slices.ContainsFunc(r.Members, func(k member) bool { return k.Group == r.Members[i].Group && k.Name != m.Name }):
		return false // none is left of a component
	}
	now, k := rs.now(), r.Members[i]
	j.lose(m, why, now)
	j.Losses[len(j.Losses)-1].Shrunk = true
	m.give(r, &k, j.charged(now), now)
	m.over[r.ID] = false
	m.dropSignals(r.ID)
	rs.recorded(m)
	r.Spent, r.SpentTo = r.spent(j.Start, now), now
	r.Gone = append(slices.Clip(r.Gone), m.Name)
	r.Members, r.machines, r.sent = slices.Delete(slices.Clone(r.Members), i, i+1), slices.Delete(r.machines, i, i+1), slices.Delete(r.sent, i, i+1)
	r.Price, r.Parts = r.price(), r.parts(len(j.Wants))
	rs.put(j)
	gone := r.Gone
	rs.after(func() {
		r.gone, m.over[r.ID] = gone, true
		m.bump()
	})
	rs.bumpAfter(r)
	rs.news.nodes()
	rs.metrics.losses.WithLabelValues(sbatch.LossShrink).Inc()
	rs.log.Info("a job goes on without a machine", "job", j.id(), "machine", m.id, "why", why)
	return true
}

// spent is what a run costs that began and ends then: each machine for as long as it had it.
func (r *runRecord) spent(start, end time.Time) federation.Money {
	if r.SpentTo.After(start) {
		start = r.SpentTo
	}
	if start.IsZero() || end.Before(start) {
		return r.Spent
	}
	return r.Spent + r.Price.For(end.Sub(start))
}

// endsWithout reports whether a further machine of a run has ended its part for a reason of its own, and the run goes on without it.
func (rs *runs) endsWithout(r *run, i int, s agentapi.Status) bool {
	switch s.Why {
	case agentapi.WhyPreempt, agentapi.WhyNode, agentapi.WhyLease:
		m := r.machines[i]
		why := m.drain
		if why == "" {
			why = "its agent has ended its part: " + string(s.Why)
		}
		return rs.shrink(r, m, why)
	}
	return false
}
