package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// A job that loses a machine need not lose the others. They are kept for it while another one is rented in the place of the lost one: when a gang starts and one of its
// machines does not come up, and when a job has run that asks for it (--on-node-loss=wait). Then the script begins again, on the kept machines and the new one: what
// the connections of a gang's processes to a machine that is gone cannot be repaired from outside. Each node keeps its rank; the new one has that of the lost one, and
// its name, once the cloud says that the lost one has ended.

// kept is the machines that stay a job's while it waits for others.
type kept struct {
	Machines []MachineID `json:"machines"`
	Ranks    []rank      `json:"ranks"` // of the run before, in the order of its members
	Since    time.Time   `json:"since"`
	Until    time.Time   `json:"until"`
	Asked    bool        `json:"asked,omitempty"` // by the job: it is given back when no other machine has come until then
}

// rank is which name had a place in a run.
type rank struct {
	Group int    `json:"group,omitempty"`
	Name  string `json:"name"`
}

// mostLosses bounds the losses that are kept of a job.
const mostLosses = 50

// lose notes that a job has lost a machine.
func (j *job) lose(m *machine, why string, now time.Time) {
	if slices.ContainsFunc(j.Losses, func(l federation.NodeLoss) bool { return l.Node == m.Name && l.By == "" && !l.Shrunk }) {
		return
	}
	j.Losses = append(slices.Clip(j.Losses), federation.NodeLoss{Node: m.Name, At: now, Why: why})
	if len(j.Losses) > mostLosses {
		j.Losses = j.Losses[1:]
	}
}

// replaced notes which nodes a run has in the place of those that were lost.
func (j *job) replaced(r *run) {
	if j.Kept == nil {
		return
	}
	j.Losses = slices.Clone(j.Losses)
	for i := range j.Losses {
		l := &j.Losses[i]
		at := slices.IndexFunc(j.Kept.Ranks, func(k rank) bool { return k.Name == l.Node })
		if l.By == "" && !l.Shrunk && at >= 0 && at < len(r.Members) {
			l.By = r.Members[at].Name
		}
	}
}

// replaces reports whether a run that has ended begins again on its machines that are left.
func (r *run) replaces() bool {
	if do, _ := r.job.Job.Spec.NodeLoss(); do != sbatch.LossWait || r.End == nil || r.job.Job.Held != federation.NotHeld {
		return false
	}
	lost := slices.ContainsFunc(r.machines, func(m *machine) bool { return !m.usable(r.job.User.Name) })
	return lost && (r.End.State == federation.NodeFail || r.End.State == federation.Preempted) && r.keepable()
}

// keepable reports whether there is a machine of a run that its job could keep. Hosts of one slice come and go together.
func (r *run) keepable() bool {
	return slices.ContainsFunc(r.machines, func(m *machine) bool { return m.usable(r.job.User.Name) }) &&
		!slices.ContainsFunc(r.machines, func(m *machine) bool { return m.group.hosts() > 1 })
}

// keep keeps the machines of a run that are left for its job, which waits again. The end of an earlier wait that has come to nothing stays.
func (rs *runs) keep(j *job, r *run, within time.Duration, asked bool) {
	k := &kept{Since: rs.now(), Until: rs.now().Add(within), Asked: asked}
	if old := j.Kept; old != nil {
		k.Until, k.Asked, k.Ranks = old.Until, old.Asked, old.Ranks
	} else {
		for i := range r.Members {
			k.Ranks = append(k.Ranks, rank{r.Members[i].Group, r.Members[i].Name})
		}
	}
	rs.release(j)
	j.Kept = k
	for _, m := range r.machines {
		switch {
		case m.usable(j.User.Name):
			m.keeper = j
			k.Machines = append(k.Machines, m.id)
		case m.State != machineAsked:
			j.lose(m, m.drain, rs.now())
			rs.metrics.losses.WithLabelValues(sbatch.LossWait).Inc()
		}
	}
}

// release lets others have the machines that a job keeps.
func (rs *runs) release(j *job) {
	if j.Kept == nil {
		return
	}
	for _, p := range j.table.pools.all {
		for _, ng := range p.groups {
			for _, m := range ng.machines {
				if m.keeper == j {
					m.keeper = nil
					p.wake()
				}
			}
		}
	}
	j.Kept = nil
}

// whyKept says what a job waits for that keeps machines.
func (j *job) whyKept() string {
	var lost []string
	for _, l := range j.Losses {
		if l.By == "" && !l.Shrunk {
			lost = append(lost, l.Node)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	return fmt.Sprintf("it has lost %s; %d of its nodes are kept until %s for another one", hostlist.Compress(lost), len(j.Kept.Machines), j.Kept.Until.UTC().Format("15:04:05Z"))
}

// waitsOn reports whether a refusal is no reason yet to give a job back: it keeps machines, as it has asked, and its time for that is not over.
func (j *job) waitsOn(now time.Time) bool {
	return j.Kept != nil && j.Kept.Asked && now.Before(j.Kept.Until)
}

// waitedOut ends a job's wait for other machines when its time is over: if it has asked for it, it is given back, to begin wherever there are machines for all of it.
func (s *scheduler) waitedOut(j *job, now time.Time) {
	k := j.Kept
	if k == nil || j.run != nil || now.Before(k.Until) {
		return
	}
	lost := j.whyKept()
	s.queue.dequeue(j) // where it stands among others follows from what it keeps
	s.runs.release(j)
	s.put(j)
	if !k.Asked {
		s.queue.enqueue(j)
	} else {
		s.giveBack(j, refusal{reason: reasons.NodeDown, detail: cmp.Or(lost, "it has lost a node") + ", and none has come"})
	}
}

// keptGroups are those of some groups that a job keeps machines of for a component; all, if it keeps none.
func (j *job) keptGroups(groups []*nodeGroup) []*nodeGroup {
	if j.Kept == nil {
		return groups
	}
	for i, ng := range groups {
		if slices.ContainsFunc(ng.machines, func(m *machine) bool { return m.keeper == j }) {
			return groups[i : i+1]
		}
	}
	return groups
}

// namesFor are the first names of the node group that no machine has, those before that a job has lost.
func (ng *nodeGroup) namesFor(j *job, n int) (names []string) {
	if j.Kept != nil {
		for _, k := range j.Kept.Ranks {
			if len(names) < n && strings.HasPrefix(k.Name, ng.prefix) && ng.pool.fleet.names[k.Name] == nil && ng.pool.fleet.held[k.Name] == "" {
				names = append(names, k.Name)
			}
		}
	}
	for _, name := range ng.newNames(n) {
		if len(names) < n && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// order sorts the nodes of a component: by their names, which is the order of SLURM_JOB_NODELIST. Those that a job has kept have the places that they had, and new ones those
// that were left.
func (j *job) order(group int, shares []demand.Share, machines []*machine) []demand.Share {
	shares = slices.SortedFunc(slices.Values(shares), func(a, b demand.Share) int {
		x, y := machines[a.Node].Name, machines[b.Node].Name // of one group: they differ in the number at their end
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	})
	if j.Kept == nil {
		return shares
	}
	var ranks []string
	for _, k := range j.Kept.Ranks {
		if k.Group == group {
			ranks = append(ranks, k.Name)
		}
	}
	placed, rest := make([]*demand.Share, len(ranks)), []*demand.Share{}
	for i := range shares {
		if at := slices.Index(ranks, machines[shares[i].Node].Name); at >= 0 {
			placed[at] = &shares[i]
		} else {
			rest = append(rest, &shares[i])
		}
	}
	var out []demand.Share
	for _, s := range placed {
		if s == nil && len(rest) > 0 {
			s, rest = rest[0], rest[1:]
		}
		if s != nil {
			out = append(out, *s)
		}
	}
	for _, s := range rest {
		out = append(out, *s)
	}
	return out
}
