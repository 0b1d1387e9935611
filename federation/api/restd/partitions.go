package restd

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// partitions is GET /partitions and GET /partition/{name}: partitions of one name at several sites are one here. With cluster in
// the query it is what those sites have.
func (s *Server) partitions(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	resp := wire.PartitionsResponse{Reply: s.Reply(r, c), LastUpdate: wire.Time(s.Now()), Partitions: wire.List[wire.Partition]{}}
	name := r.PathValue("name")
	v := s.Lister.ViewOf(s.Lister.SitesOf(r.URL.Query()))
	for _, m := range mergePartitions(v.Sites) {
		if name == "" || m.name == name {
			p := m.record()
			if m.name == v.Default {
				p.Flags = append(wire.Strings{"DEFAULT"}, p.Flags...)
			}
			if r.PathValue("version") == wire.Base {
				p.Flags = nil // which it does not have
			}
			resp.Partitions = append(resp.Partitions, p)
		}
	}
	if name != "" && len(resp.Partitions) == 0 {
		return absentPartition(name)
	}
	return write(w, r, resp)
}

// mergedPartition is a partition of the federation: the same name at one site or several.
type mergedPartition struct {
	name  string
	first *federation.Partition
	all   []*federation.Partition
	nodes []*federation.Node
	names []string
}

// mergePartitions puts the partitions of sites together, in the order in which they are met.
func mergePartitions(sites []*federation.Site) []*mergedPartition {
	byName := map[string]*mergedPartition{}
	var out []*mergedPartition
	for _, site := range sites {
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Partitions {
			p := &site.Seen.Partitions[i]
			m := byName[p.Name]
			if m == nil {
				m = &mergedPartition{name: p.Name, first: p}
				byName[p.Name] = m
				out = append(out, m)
			}
			m.all = append(m.all, p)
			for j := range site.Seen.Nodes {
				if n := &site.Seen.Nodes[j]; slices.Contains(n.Partitions, p.Name) || slices.Contains(p.Nodes, n.Name) {
					m.nodes, m.names = append(m.nodes, n), append(m.names, n.Name)
				}
			}
		}
	}
	return out
}

// record is m as slurmctld would report it. Of limits that differ the widest is shown: a job within it can run somewhere.
func (m *mergedPartition) record() wire.Partition {
	p := m.first
	var w wire.Partition
	w.Name, w.NodeSets = m.name, "ALL"
	w.Nodes.Configured, w.Nodes.Total = hostlist.Compress(m.names), int64(len(m.names))
	w.Accounts = wire.Allowed{Allowed: strings.Join(p.AllowAccounts, ","), Deny: strings.Join(p.DenyAccounts, ",")}
	w.QOS.Allowed = strings.Join(p.AllowQOS, ",")
	for _, n := range m.nodes {
		w.CPUs.Total += int64(n.CPUs)
	}
	w.TRES.Configured = m.tres(int(w.CPUs.Total))
	w.Partition.State = wire.Strings{m.state()}
	w.Defaults.Time = minutes(int64(p.DefaultTime.Minutes()), p.DefaultTime == sbatch.Unlimited)
	w.Defaults.PartitionMemoryPerNode = wire.Num(int64(p.DefMemPerNode))
	if p.DefMemPerCPU > 0 {
		w.Defaults.MemoryPerCPU, w.Defaults.PartitionMemoryPerCPU = int64(p.DefMemPerCPU), wire.Num(int64(p.DefMemPerCPU))
	}
	w.Maximums.CPUsPerNode, w.Maximums.CPUsPerSocket, w.Maximums.Nodes = wire.Inf(), wire.Inf(), wire.Inf()
	w.Maximums.PartitionMemoryPerNode, w.Maximums.Shares, w.Maximums.OverSubscribe.Jobs = wire.Num(0), 1, 1
	w.Maximums.Time = m.maxTime()
	if n := m.maxNodes(); n > 0 {
		w.Maximums.Nodes = wire.Num(int64(n))
	}
	w.Minimums.Nodes = int64(p.MinNodes)
	w.Priority.JobFactor, w.Priority.Tier = 1, int64(max(p.PriorityTier, 1))
	if p.Info != nil {
		addPartitionInfo(&w, p.Info)
	}
	if p.RootOnly {
		w.Flags = append(w.Flags, "ROOT_ONLY")
	}
	return w
}

// addPartitionInfo adds what the first site says of the partition.
func addPartitionInfo(w *wire.Partition, p *federation.PartitionInfo) {
	if p.Hidden {
		w.Flags = append(w.Flags, "HIDDEN")
	}
	w.Groups.Allowed, w.Nodes.AllowedAllocation, w.GraceTime = p.AllowGroups, p.AllocNodes, int64(p.GraceTime.Seconds())
	if p.MaxCPUsPerNode > 0 {
		w.Maximums.CPUsPerNode = wire.Num(int64(p.MaxCPUsPerNode))
	}
	w.Priority.JobFactor = int64(max(p.JobFactor, 1))
	kind, count, _ := strings.Cut(p.OverSubscribe, ":")
	jobs, _ := strconv.ParseInt(count, 10, 64)
	switch kind {
	case "EXCLUSIVE":
		w.Maximums.Shares, w.Maximums.OverSubscribe.Jobs = 0, 0
	case "YES":
		w.Maximums.Shares, w.Maximums.OverSubscribe.Jobs = jobs, jobs
	case "FORCE":
		w.Maximums.Shares, w.Maximums.OverSubscribe.Jobs = jobs|1<<15, jobs
		w.Maximums.OverSubscribe.Flags = wire.Strings{"force"}
	}
}

// state is UP if it is at any site, else what the first site says.
func (m *mergedPartition) state() string {
	for _, p := range m.all {
		if p.Up {
			return "UP"
		}
	}
	return cmp.Or(m.first.State, "DOWN")
}

func (m *mergedPartition) maxTime() wire.Number {
	var most int64
	for _, p := range m.all {
		if p.MaxTime == sbatch.Unlimited || p.MaxTime == 0 {
			return wire.Inf()
		}
		most = max(most, int64(p.MaxTime.Minutes()))
	}
	return wire.Num(most)
}

func (m *mergedPartition) maxNodes() int {
	most := 0
	for _, p := range m.all {
		if p.MaxNodes == 0 {
			return 0
		}
		most = max(most, p.MaxNodes)
	}
	return most
}

// tres is what the partition has in all: "cpu=64,mem=250G,node=4,billing=64,gres/gpu=16,gres/gpu:h100=16".
func (m *mergedPartition) tres(cpus int) string {
	z := Size{Size: demand.Size{CPUs: cpus, Nodes: len(m.nodes)}}
	byKind := map[[2]string]int{}
	var order [][2]string
	for _, n := range m.nodes {
		z.Mem += n.Mem
		for _, g := range n.GRES {
			k := [2]string{g.Name, g.Type}
			if _, ok := byKind[k]; !ok {
				order = append(order, k)
			}
			byKind[k] += g.Total
		}
	}
	for _, k := range order {
		z.GRES = append(z.GRES, gres.Resource{Name: k[0], Type: k[1], Count: byKind[k]})
	}
	return z.TRES()
}

// minutes is a time limit; 0 is none given.
func minutes(n int64, unlimited bool) wire.Number {
	switch {
	case unlimited:
		return wire.Inf()
	case n == 0:
		return wire.Number{}
	}
	return wire.Num(n)
}
