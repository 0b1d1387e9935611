package api

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/driver"
	"fsub/federation/fragment"
	"fsub/federation/idle"
)

// sites answers for the members of the federation. What operators order is written to the store; the controller carries it out.
type sites struct {
	Store Store
	Sites func() []*federation.Site
	Wake  func() // the store has something for the controller
	Now   func() time.Time

	// Calls is the budget of calls of a site, nil if it has none: see driver.Abilities; nil: no site has.
	Calls func(federation.SiteName) func() (perSecond, used float64)
	// Fragments tells how whole the free GPUs of a site are; nil: that is not known.
	Fragments func(*federation.Site) []fragment.Score
	// Idle are the running jobs that leave idle what they hold; nil: that is not known.
	Idle func() []idle.Held
	// Elsewhere tells a caller which jobs run at a site under another account than the one that pays for them; nil: nobody knows.
	Elsewhere func(c identity.Caller, site *federation.Site) []string
	// Interactive reports whether users get inside their jobs at a site.
	Interactive func(federation.SiteName) bool
	// Check tries a site; nil: sites cannot be tried here.
	Check func(ctx context.Context, site federation.SiteName) ([]driver.SiteCheck, error)
	// Add takes a site into the federation, and returns its name; nil: that cannot be done here.
	Add func(ctx context.Context, req v1.AddSite, by audit.Entry) (federation.SiteName, error)
	// Change changes how a site is described; nil: that cannot be done here.
	Change func(ctx context.Context, site federation.SiteName, req v1.UpdateSite, by audit.Entry) error
}

// List is GET /fed/v1/sites.
func (s *sites) List(ctx context.Context, _ identity.Caller, q v1.SiteQuery) ([]v1.Site, error) {
	said, err := s.Store.SiteState(ctx)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	running, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	out := []v1.Site{}
	for _, site := range s.Sites() {
		v := s.describe(site)
		v.StateWhy = said[site.Name].Reason
		v.Running, v.Interactive = running[site.Name], s.Interactive != nil && s.Interactive(site.Name)
		if s.Calls != nil {
			if calls := s.Calls(site.Name); calls != nil {
				v.CallsPerSecond, v.CallsUsed = calls()
			}
		}
		out = append(out, v)
	}
	if q.Removed {
		for _, name := range slices.Sorted(maps.Keys(said)) {
			if r := said[name]; r.State == federation.FedRemoved {
				out = append(out, v1.Site{Name: name, State: r.State, StateWhy: r.Reason, Conditions: []v1.Condition{}})
			}
		}
	}
	return out, nil
}

// running counts the jobs of ours that hold nodes at each site.
func (s *sites) running(ctx context.Context) (map[federation.SiteName]int, error) {
	jobs, err := s.Store.Jobs(ctx, federation.JobQuery{
		States: []federation.State{federation.Configuring, federation.Running, federation.Suspended, federation.Completing},
	})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	n := map[federation.SiteName]int{}
	for _, j := range jobs {
		n[j.Site]++
	}
	return n, nil
}

// describe is what a site says of itself, and how whole its free GPUs are.
func (s *sites) describe(site *federation.Site) v1.Site {
	v := describeSite(site)
	if s.Fragments != nil {
		for _, f := range s.Fragments(site) {
			v.Fragments = append(v.Fragments, v1.FreeGPUs{Type: f.GPU, Free: f.Free, OnNodes: f.Node, OnLeaves: f.Leaf, OnBlocks: f.Block,
				Leaves: f.Leaves, Blocks: f.Blocks, Fragmented: f.Fragmented()})
		}
	}
	if s.Idle != nil {
		for _, h := range s.Idle() {
			if h.Site == site.Name && h.Now {
				v.JobsIdleHeld, v.GPUsIdleHeld = v.JobsIdleHeld+1, v.GPUsIdleHeld+h.GPUs
			}
		}
	}
	return v
}

func describeSite(site *federation.Site) v1.Site {
	v := v1.Site{
		Name: site.Name, State: site.State,
		Answering: site.Answering, Error: site.Error, ErrorSince: site.ErrorSince,
		Bound: len(site.Bound), NextTry: site.NextTry, Lost: site.Lost, Conditions: []v1.Condition{},
	}
	for _, c := range site.Conditions {
		v.Conditions = append(v.Conditions, v1.Condition{Name: c.Name, Since: c.Since, Detail: c.Detail, Advice: c.Name.Advice()})
	}
	o := site.Seen
	if o == nil {
		return v
	}
	v.Seen, v.Cluster, v.Version, v.Mode, v.Warnings = later(site.SeenAt, o.At), o.Cluster, o.Version, o.Mode, o.Warnings
	spare := spareNodes(o)
	v.Nodes = len(o.Nodes) - len(spare)
	for i := range o.Nodes {
		n := &o.Nodes[i]
		if spare[n.Name] {
			continue
		}
		usable := n.Usable()
		if usable && slices.Contains(n.State, "IDLE") {
			v.NodesIdle++
		}
		for _, g := range n.GRES {
			if g.Name != "gpu" {
				continue
			}
			v.GPUs += g.Total
			if usable {
				v.GPUsFree += g.Total - g.Used
			}
		}
	}
	return v
}

// spareNodes are the nodes that cannot be had beside all others: each offering of a rented pool has as many as the pool may have in all.
func spareNodes(o *federation.Observation) map[string]bool {
	spare := map[string]bool{}
	for i := range o.Partitions {
		p := &o.Partitions[i]
		if p.MaxStarts == nil {
			continue
		}
		var free []*federation.Node
		for k := range o.Nodes {
			n := &o.Nodes[k]
			is := func(state string) bool { return slices.Contains(n.State, state) }
			if slices.Contains(n.Partitions, p.Name) && (is("IDLE") || is("POWERED_DOWN")) && !is("DRAIN") {
				free = append(free, n)
			}
		}
		slices.SortStableFunc(free, func(a, b *federation.Node) int { // those first that can be had
			if a.Usable() != b.Usable() {
				return map[bool]int{true: -1, false: 1}[a.Usable()]
			}
			return cmp.Compare(gpusOf(b), gpusOf(a))
		})
		for _, n := range free[min(max(*p.MaxStarts, 0), len(free)):] {
			spare[n.Name] = true
		}
	}
	return spare
}

func gpusOf(n *federation.Node) (total int) {
	for _, g := range n.GRES {
		if g.Name == "gpu" {
			total += g.Total
		}
	}
	return total
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
