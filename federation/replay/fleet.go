package replay

import (
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/sbatch"
)

// fleet is the sites as they stand.
type fleet struct {
	sites  []*siteNow
	byName map[federation.SiteName]*siteNow
	idle   []idleNode // rented ones that nothing runs on, the first to go first
	used   inUse
	ours   map[federation.JobID]*federation.Job // what runs and may be moved; nil: nothing is
}

// inUse is what runs hold.
type inUse struct {
	gpus, cpus int // of what is owned
	rented     int // GPUs
}

// add adds what a run holds on a node, or takes it away.
func (u *inUse) add(n *federation.Node, r *federation.RunningJob, sign int) {
	gpus := 0
	for _, g := range r.GRES {
		if g.Name == "gpu" {
			gpus += sign * g.Used
		}
	}
	if n.Rented != nil {
		u.rented += gpus
		return
	}
	u.gpus, u.cpus = u.gpus+gpus, u.cpus+sign*r.CPUs
}

// siteNow is one site.
type siteNow struct {
	site    *federation.Site
	nodes   []federation.Node
	parts   []federation.Partition
	at      map[string]int // by name
	running []held
	dirty   bool
	down    []*federation.Rented // by node: what it is while it is powered down; nil: it is owned, or was up from the beginning
	jobs    []int                // by node: what runs there
}

// held is a run that holds nodes.
type held struct {
	federation.RunningJob
	begin time.Time
	fixed bool // its end is its limit
}

// endsAt is when a run ends that there was at the beginning; zero: never.
func (h *held) endsAt(expected map[federation.JobID]time.Time) time.Time {
	if at, ok := expected[h.Job]; ok {
		return at
	}
	return h.End
}

// idleNode is a rented node that is given back unless it gets a job before.
type idleNode struct {
	site *siteNow
	node int
	at   time.Time
}

// keepIdle is for how long an idle rented node is kept.
const keepIdle = 5 * time.Minute

func newFleet(sites []*federation.Site, now time.Time) *fleet {
	f := &fleet{byName: map[federation.SiteName]*siteNow{}}
	for _, was := range sites {
		site := *was
		obs := *was.Seen
		obs.Waiting, obs.PendingJobs = nil, 0 // others are not simulated
		site.Seen, site.Bound, site.Outlook = &obs, nil, nil
		if site.Pools == nil {
			site.Pools = place.Pools(site.Name, &obs)
		}
		s := &siteNow{site: &site, nodes: slices.Clone(obs.Nodes), parts: obs.Partitions, at: map[string]int{}, dirty: true, down: make([]*federation.Rented, len(obs.Nodes)), jobs: make([]int, len(obs.Nodes))}
		for i := range s.nodes {
			n := &s.nodes[i]
			n.GRES = slices.Clone(n.GRES)
			s.at[n.Name] = i
			if n.Rented != nil && slices.Contains(n.State, "POWERED_DOWN") {
				s.down[i] = n.Rented
			}
		}
		for _, r := range obs.Running {
			s.running = append(s.running, held{r, now, true})
			for _, name := range r.Nodes {
				if i, ok := s.at[name]; ok {
					s.jobs[i]++
					f.used.add(&s.nodes[i], &r, 1)
				}
			}
		}
		f.sites = append(f.sites, s)
		f.byName[site.Name] = s
	}
	return f
}

// size is what is owned.
func (f *fleet) size() (gpus, cpus int) {
	f.owned(func(n *federation.Node) {
		cpus += n.CPUs
		for _, g := range n.GRES {
			if g.Name == "gpu" {
				gpus += g.Total
			}
		}
	})
	return gpus, cpus
}

func (f *fleet) owned(each func(*federation.Node)) {
	for _, s := range f.sites {
		for i := range s.nodes {
			if s.nodes[i].Rented == nil {
				each(&s.nodes[i])
			}
		}
	}
}

// changed returns the sites that are not as they were, as a look at them would show them.
func (f *fleet) changed(now time.Time) (out []*federation.Site) {
	for _, s := range f.sites {
		if !s.dirty {
			continue
		}
		s.dirty = false
		next := s.look(now, nil, nil)
		if f.ours != nil {
			next.Ours = nil
			for i := range s.running {
				if j := f.ours[s.running[i].Job]; j != nil {
					next.Ours = append(next.Ours, j)
				}
			}
		}
		out = append(out, next)
	}
	return out
}

// look is what a look at the site shows.
func (s *siteNow) look(now time.Time, waiting []federation.WaitingJob, outlook decision.Outlook) *federation.Site {
	next, obs := *s.site, *s.site.Seen
	obs.At = now
	obs.Nodes, obs.Partitions = slices.Clone(s.nodes), s.parts
	obs.Running = make([]federation.RunningJob, len(s.running))
	for i := range s.running {
		obs.Running[i] = s.running[i].RunningJob
	}
	obs.Waiting, obs.PendingJobs = waiting, len(waiting)
	next.Seen, next.Outlook = &obs, outlook
	s.site = &next
	return &next
}

// boot is how long nodes take to start.
func (f *fleet) boot(held []start) (longest time.Duration) {
	for k := range held {
		s := f.byName[held[k].site]
		for _, name := range held[k].held.Nodes {
			if r := s.nodes[s.at[name]].Rented; r != nil {
				longest = max(longest, r.Boot)
			}
		}
	}
	return longest
}

// lasts is how long a job runs on the nodes of an offer.
func (f *fleet) lasts(o *decision.Offer, run time.Duration) time.Duration {
	if speed := f.byName[o.Site].site.Speed[o.GPUType]; speed > 0 {
		return time.Duration(float64(run) / speed)
	}
	return run
}

// take gives nodes to a run that begins then.
func (f *fleet) take(h *start, now, begin time.Time) {
	s := f.byName[h.site]
	s.dirty = true
	fixed := !h.held.End.IsZero() && h.held.Limit > 0
	s.running = append(s.running, held{h.held, begin, fixed})
	for _, name := range h.held.Nodes {
		i := s.at[name]
		if s.down[i] != nil {
			up := *s.down[i]
			up.Boot = 0
			s.nodes[i].Rented = &up
			f.idle = slices.DeleteFunc(f.idle, func(n idleNode) bool { return n.site == s && n.node == i })
		}
		if s.jobs[i]++; s.jobs[i] == 1 {
			s.mayStart(&s.nodes[i], -1)
		}
		s.use(i, &h.held, 1)
		f.used.add(&s.nodes[i], &h.held, 1)
	}
}

// free takes them back.
func (f *fleet) free(h start, now time.Time) {
	s := f.byName[h.site]
	s.dirty = true
	s.running = slices.DeleteFunc(s.running, func(r held) bool { return r.Job == h.held.Job && slices.Equal(r.Nodes, h.held.Nodes) })
	for _, name := range h.held.Nodes {
		i, ok := s.at[name]
		if !ok {
			continue // it ran there at the beginning, on a node that is gone
		}
		if s.jobs[i]--; s.jobs[i] == 0 {
			s.mayStart(&s.nodes[i], 1)
		}
		s.use(i, &h.held, -1)
		f.used.add(&s.nodes[i], &h.held, -1)
		if s.jobs[i] == 0 && s.down[i] != nil {
			f.idle = append(f.idle, idleNode{s, i, now.Add(keepIdle)})
		}
	}
}

// mayStart counts a node that has fallen idle (1) among those that may be taken into use, or one that is idle no more (-1).
func (s *siteNow) mayStart(n *federation.Node, sign int) {
	for i := range s.parts {
		if most := s.parts[i].MaxStarts; most != nil && slices.Contains(n.Partitions, s.parts[i].Name) {
			s.parts = slices.Clone(s.parts) // what was told is not changed
			now := max(*most+sign, 0)
			s.parts[i].MaxStarts = &now
		}
	}
}

// use adds to what is in use of a node.
func (s *siteNow) use(i int, r *federation.RunningJob, sign int) {
	n := &s.nodes[i]
	n.CPUsUsed += sign * r.CPUs
	n.MemUsed += sbatch.MemMiB(sign) * r.Mem
	gres := slices.Clone(n.GRES)
	for _, g := range r.GRES {
		for k := range gres {
			if gres[k].Name == g.Name && gres[k].Type == g.Type {
				gres[k].Used += sign * g.Used
			}
		}
	}
	n.GRES = gres
	state := "IDLE"
	if s.jobs[i] > 0 {
		state = "MIXED"
		if n.CPUsUsed >= n.CPUs {
			state = "ALLOCATED"
		}
	}
	rest := slices.DeleteFunc(slices.Clone(n.State), func(s string) bool {
		return s == "IDLE" || s == "MIXED" || s == "ALLOCATED" || s == "POWERED_DOWN"
	})
	n.State = append([]string{state}, rest...)
}

// overdue is when the first of what was to have ended by its forecast, or an idle rented node, is to be looked at again.
func (f *fleet) overdue() (at time.Time, ok bool) {
	if len(f.idle) > 0 {
		at, ok = f.idle[0].at, true
	}
	for _, s := range f.sites {
		for i := range s.running {
			if r := &s.running[i]; !r.fixed && !r.End.IsZero() && (!ok || r.End.Before(at)) {
				at, ok = r.End, true
			}
		}
	}
	return at, ok
}

// passOverdue puts off the ends of runs that go on longer than was expected: those are expected to last as long again. Rented nodes that have been idle for
// long enough are given back.
func (f *fleet) passOverdue(now time.Time) {
	for _, s := range f.sites {
		for i := range s.running {
			if r := &s.running[i]; !r.fixed && !r.End.IsZero() && !r.End.After(now) {
				r.End = now.Add(max(now.Sub(r.begin), time.Minute))
				s.dirty = true
			}
		}
	}
	for len(f.idle) > 0 && !f.idle[0].at.After(now) {
		s, i := f.idle[0].site, f.idle[0].node
		f.idle = f.idle[1:]
		s.nodes[i].Rented, s.nodes[i].State, s.dirty = s.down[i], []string{"IDLE", "CLOUD", "POWERED_DOWN"}, true
	}
}
