package restd

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/decision"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
)

// View is the federation as one cluster at one moment: what listings of jobs, nodes and partitions are made of.
type View struct {
	cluster    string // the federation's name
	Now        time.Time
	Sites      []*federation.Site
	partitions map[federation.SiteName]map[string]*federation.Partition
	Default    string // name of the partition that a job without one is shown in
	users      *identity.Names
	starts     decision.Starts
	comments   map[federation.JobID]string // what is remarked of running jobs: Slurm's system_comment
	Expand     bool                        // standard_output with its patterns replaced: up to v0.0.42

	accounts sync.Map // the default account of each user that was asked for
}

// accountOf is the account that j runs under. Before it has a site, and if it names none, that is its user's default where all sites agree about it.
func (v *View) accountOf(j *federation.Job) string {
	if name := cmp.Or(j.Account, j.Spec.Account); name != "" || j.Site != "" {
		return name
	}
	if name, ok := v.accounts.Load(j.User); ok {
		return name.(string)
	}
	found := map[string]bool{}
	name := ""
	for _, site := range v.Sites {
		if site.Seen == nil {
			continue
		}
		user := j.User
		if at, ok := site.Users[user]; ok {
			user = at.Name
		}
		for _, a := range site.Seen.Associations[user] {
			if a.Default {
				name, found[a.Account] = a.Account, true
			}
		}
	}
	if len(found) > 1 {
		name = ""
	}
	v.accounts.Store(j.User, name)
	return name
}

// partitionOf is the partition that j is shown in.
func (v *View) partitionOf(j *federation.Job) string {
	switch {
	case j.Partition != "":
		return j.Partition
	case j.Spec.Partition != "":
		return j.Spec.Partition
	}
	return v.Default
}

// partitionAt is the partition of j as its site has it, or while j has none as the first site does that it asks for, or any; nil if none does.
func (v *View) partitionAt(j *federation.Job) *federation.Partition {
	name, _, _ := strings.Cut(v.partitionOf(j), ",")
	if p := v.partitions[j.Site][name]; p != nil {
		return p
	}
	var first *federation.Partition
	for _, site := range v.Sites {
		p := v.partitions[site.Name][name]
		if p != nil && j.Needs().Asks(string(site.Name)) {
			return p
		}
		first = cmp.Or(first, p)
	}
	return first
}

// sizeOf is how much j asks for on some nodes, with the memory that its partition gives where it asks for none.
func (v *View) sizeOf(j *federation.Job, nodes string) Size {
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
func (v *View) wholeNodes(z *Size, at federation.SiteName, list string) {
	names, err := hostlist.Expand(list)
	i := slices.IndexFunc(v.Sites, func(s *federation.Site) bool { return s.Name == at && s.Seen != nil })
	if err != nil || i < 0 || list == "" {
		return
	}
	cpus, sums := 0, map[gres.Resource]int{}
	for _, name := range names {
		k := slices.IndexFunc(v.Sites[i].Seen.Nodes, func(n federation.Node) bool { return n.Name == name })
		if k < 0 {
			return
		}
		n := &v.Sites[i].Seen.Nodes[k]
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
func (v *View) limitOf(j *federation.Job) time.Duration {
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
func (v *View) allocated(z Size, site federation.SiteName, node string) Size {
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
func (v *View) typesOf(site federation.SiteName, node string) map[string]string {
	types := map[string]string{}
	for _, s := range v.Sites {
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

// Limit is a job's time limit: its own, else what the partition where it is has as a default. 0: not known.
func (v *View) Limit(j *federation.Job) time.Duration { return v.limitOf(j) }
