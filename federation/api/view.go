package api

import (
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
)

// view is the federation as one cluster at one moment: what listings of jobs, nodes and partitions are made of.
type view struct {
	cluster    string // the federation's name
	now        time.Time
	sites      []*federation.Site
	partitions map[federation.SiteName]map[string]*federation.Partition
	deflt      string // name of the partition that a job without one is shown in
	users      *identity.Names
	expand     bool // standard_output with its patterns replaced: up to v0.0.42
}

// lister reads what listings show: jobs from the store, and what the sites measured of them.
type lister struct {
	store   federation.Store
	usage   federation.UsageStore // nil: there is none
	steps   federation.StepTeller // nil: no site tells
	users   *identity.Names
	all     func() []*federation.Site
	now     func() time.Time
	keep    time.Duration // how long an ended job is listed
	cluster string        // the federation's name
}

func (s *lister) view() *view { return s.viewOf(s.all()) }

// viewOf is the view of some sites only.
func (s *lister) viewOf(sites []*federation.Site) *view {
	v := &view{
		cluster: s.cluster, now: s.now(), sites: sites, users: s.users,
		partitions: map[federation.SiteName]map[string]*federation.Partition{},
	}
	for _, site := range v.sites {
		if site.Seen == nil {
			continue
		}
		m := map[string]*federation.Partition{}
		for i := range site.Seen.Partitions {
			p := &site.Seen.Partitions[i]
			m[p.Name] = p
			if p.Default && v.deflt == "" {
				v.deflt = p.Name // exactly one default: that of the first site which has one
			}
		}
		v.partitions[site.Name] = m
	}
	return v
}

// partitionOf is the partition that j is shown in.
func (v *view) partitionOf(j *federation.Job) string {
	switch {
	case j.Partition != "":
		return j.Partition
	case j.Spec.Partition != "":
		return j.Spec.Partition
	}
	return v.deflt
}

// partitionAt is the partition of j as its site has it, or as any site does while j has none; nil if none does.
func (v *view) partitionAt(j *federation.Job) *federation.Partition {
	name, _, _ := strings.Cut(v.partitionOf(j), ",")
	if p := v.partitions[j.Site][name]; p != nil {
		return p
	}
	for _, site := range v.sites {
		if p := v.partitions[site.Name][name]; p != nil {
			return p
		}
	}
	return nil
}

// sizeOf is how much j asks for on some nodes, with the memory that its partition gives where it asks for none.
func (v *view) sizeOf(j *federation.Job, nodes string) size {
	sized := *j
	sized.Nodes = nodes
	z := sizeOf(&sized)
	if sp := j.Spec; sp.MemPerNode == 0 && sp.MemPerCPU == 0 && sp.MemPerGPU == 0 {
		if p := v.partitionAt(j); p != nil {
			z.memPerNode, z.memPerCPU = p.DefMemPerNode, p.DefMemPerCPU
			z.Mem = max(p.DefMemPerNode*sbatch.MemMiB(z.Nodes), p.DefMemPerCPU*sbatch.MemMiB(z.CPUs))
		}
	}
	if j.Spec.Exclusive == "exclusive" {
		v.wholeNodes(&z, j.Site, nodes)
	}
	return z
}

// wholeNodes makes z all processors and GRES of its nodes.
func (v *view) wholeNodes(z *size, at federation.SiteName, list string) {
	names, err := hostlist.Expand(list)
	i := slices.IndexFunc(v.sites, func(s *federation.Site) bool { return s.Name == at && s.Seen != nil })
	if err != nil || i < 0 || list == "" {
		return
	}
	cpus, sums := 0, map[gres.Resource]int{}
	for _, name := range names {
		k := slices.IndexFunc(v.sites[i].Seen.Nodes, func(n federation.Node) bool { return n.Name == name })
		if k < 0 {
			return
		}
		n := &v.sites[i].Seen.Nodes[k]
		cpus += n.CPUs
		for _, g := range n.GRES {
			sums[gres.Resource{Name: g.Name, Type: g.Type}] += g.Total
		}
	}
	z.CPUs, z.GRES = cpus, nil
	for g, count := range sums {
		g.Count = count
		z.GRES = append(z.GRES, g)
	}
	slices.SortFunc(z.GRES, func(a, b gres.Resource) int { return strings.Compare(a.Name+a.Type, b.Name+b.Type) })
}

// limitOf is a job's time limit: its own, else that of its partition at its site, else that of any site's partition of
// that name. 0: not known.
func (v *view) limitOf(j *federation.Job) time.Duration {
	if j.Spec.TimeLimit != 0 {
		return j.Spec.TimeLimit
	}
	p := v.partitionAt(j)
	if p == nil {
		return 0
	}
	limit := defaultLimit(p)
	if p.DefaultTime == 0 && !j.Spec.Deadline.IsZero() && !j.Start.IsZero() { // cut by slurmctld when it starts
		limit = min(limit, j.Spec.Deadline.Sub(j.Start).Truncate(time.Minute))
	}
	return limit
}

func defaultLimit(p *federation.Partition) time.Duration {
	switch {
	case p.DefaultTime != 0:
		return p.DefaultTime
	case p.MaxTime != 0:
		return p.MaxTime
	}
	return sbatch.Unlimited
}

// allocated is z as it was given on the job's nodes: a GPU that was asked for without a type has that of its node, where
// the node has only one.
func (v *view) allocated(z size, site federation.SiteName, node string) size {
	types := v.typesOf(site, node)
	given := make([]gres.Resource, len(z.GRES))
	for i, g := range z.GRES {
		if g.Type == "" {
			g.Type = types[g.Name]
		}
		given[i] = g
	}
	z.GRES = given
	return z
}

// typesOf are the types of a node's GRES by name, for those that have exactly one.
func (v *view) typesOf(site federation.SiteName, node string) map[string]string {
	types := map[string]string{}
	for _, s := range v.sites {
		if s.Name != site || s.Seen == nil {
			continue
		}
		i, ok := slices.BinarySearchFunc(s.Seen.Nodes, node, func(n federation.Node, name string) int { return strings.Compare(n.Name, name) })
		if !ok {
			continue
		}
		for _, g := range s.Seen.Nodes[i].GRES {
			if old, twice := types[g.Name]; twice && old != g.Type {
				types[g.Name] = ""
			} else {
				types[g.Name] = g.Type
			}
		}
	}
	return types
}
