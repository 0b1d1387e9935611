package place

import (
	"fsub/federation"
	"fsub/sbatch"
)

// OnStart calls f with each job that a plan starts, and what that holds at its site: one RunningJob, of a heterogeneous job one for each component.
// The nodes are those that the plan counts with. A simulator, which is the sites too, starts the job there. A plan that is made again calls f again.
func (w *World) OnStart(f func(*federation.Job, federation.SiteName, federation.RunningJob)) {
	w.onStart = f
}

// started tells of the job that is looked at.
func (pl *plan) started(s *spot) {
	if pl.onStart == nil {
		return
	}
	f, m := &s.c.fits[s.fit], s.c.site.model
	first := s.nodes[0]
	r := federation.RunningJob{Job: pl.at.job.ID, CPUs: int(m.takenBy(f, first)), Mem: sbatch.MemMiB(f.mem), Stake: federation.Stake{Partition: m.pools[s.c.pool].Partition}}
	for _, n := range s.nodes {
		r.Nodes = append(r.Nodes, m.obs.Nodes[n].Name)
	}
	total := m.totalGRES[int(first)*len(m.slots) : (int(first)+1)*len(m.slots)]
	for i := range f.gres {
		want := &f.gres[i]
		left := want.count
		for _, slot := range want.slots {
			if part := min(left, total[slot]); part > 0 {
				r.GRES = append(r.GRES, federation.GRES{Name: m.slots[slot].name, Type: m.slots[slot].kind, Used: int(part)})
				left -= part
			}
		}
	}
	pl.onStart(pl.at.job, s.c.site.site.Name, r)
}
