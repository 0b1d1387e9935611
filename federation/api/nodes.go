package api

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
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

// nodes is GET /nodes and GET /node/{name}: all nodes of all sites, or of those that the query's cluster names. Two sites may
// have nodes of one name; cluster_name tells them apart.
func (s *restd) nodes(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	resp := wire.NodesResponse{Reply: s.reply(r, c), LastUpdate: wire.Time(s.now()), Nodes: wire.List[wire.Node]{}}
	name := r.PathValue("name")
	for _, site := range s.lister.sitesOf(r.URL.Query()) {
		if site.Seen == nil {
			continue
		}
		for i := range site.Seen.Nodes {
			if n := &site.Seen.Nodes[i]; name == "" || n.Name == name {
				resp.Nodes = append(resp.Nodes, nodeRecord(site, n))
			}
		}
	}
	if name != "" && len(resp.Nodes) == 0 {
		return slurmErr(federation.ErrInvalid, wire.ErrNodeName)
	}
	return writeJSON(w, resp)
}

// sitesOf are those that a query's cluster names, with commas; all if it names none.
func (s *lister) sitesOf(q url.Values) []*federation.Site {
	all := s.all()
	names := csv(q, "cluster")
	if len(names) == 0 {
		return all
	}
	var out []*federation.Site
	for _, site := range all {
		if slices.Contains(names, string(site.Name)) {
			out = append(out, site)
		}
	}
	return out
}

// nodeRecord is n as slurmctld would report it. Nodes of a site that does not answer are shown as last seen, NOT_RESPONDING.
func nodeRecord(site *federation.Site, n *federation.Node) wire.Node {
	state := slices.Clone(n.State)
	if !site.Answering && !slices.Contains(state, "NOT_RESPONDING") {
		state = append(state, "NOT_RESPONDING")
	}
	w := wire.Node{
		Name: n.Name, Hostname: n.Name, Address: n.Name, ClusterName: string(site.Name), State: state, Reason: n.Reason,
		Boards: 1, Sockets: int64(max(n.Sockets, 1)), Cores: int64(max(n.Cores, 1)), Threads: int64(max(n.Threads, 1)),
		CPUs: int64(n.CPUs), EffectiveCPUs: int64(n.CPUs), AllocCPUs: int64(n.CPUsUsed), AllocIdleCPUs: int64(max(n.CPUs-n.CPUsUsed, 0)),
		RealMemory: int64(n.Mem), AllocMemory: int64(n.MemUsed), Weight: 1, Version: site.Seen.Version,
		Features: n.Features, ActiveFeatures: n.Features, Partitions: n.Partitions, GRESDrained: "N/A",
		NextStateAfterReboot: wire.Strings{"INVALID"}, TRESWeighted: float64(n.CPUsUsed),
		BootTime: wire.Num(0), LastBusy: wire.Num(0), ReasonChangedAt: wire.Num(0), ResumeAfter: wire.Num(0), SlurmdStartTime: wire.Num(0),
		Energy: wire.Energy{CurrentWatts: wire.Num(0)},
	}
	var all, used []string
	for _, g := range n.GRES {
		kind := g.Name
		if g.Type != "" {
			kind += ":" + g.Type
		}
		all = append(all, fmt.Sprintf("%s:%d", kind, g.Total))
		used = append(used, fmt.Sprintf("%s:%d", kind, g.Used))
	}
	w.GRES, w.GRESUsed = strings.Join(all, ","), strings.Join(used, ",")
	if n.Info != nil {
		addInfo(&w, n.Info)
	}
	if slices.Contains(n.State, "CLOUD") && (n.Info == nil || n.Info.Version == "") {
		w.Version = "" // no slurmd has said it yet
	}
	w.TRES = nodeTRES(n.CPUs, n.Mem, n.CPUs, n.GRES, func(g federation.GRES) int { return g.Total })
	if n.CPUsUsed > 0 || n.MemUsed > 0 {
		w.TRESUsed = nodeTRES(n.CPUsUsed, n.MemUsed, 0, n.GRES, func(g federation.GRES) int { return g.Used })
	}
	return w
}

// addInfo puts what the site says of the node in place of what was made up.
func addInfo(w *wire.Node, n *federation.NodeInfo) {
	w.Hostname, w.Address, w.Port = cmp.Or(n.Hostname, w.Hostname), cmp.Or(n.Address, w.Address), int64(n.Port)
	w.Version, w.Architecture, w.OperatingSystem = cmp.Or(n.Version, w.Version), n.Architecture, n.System
	w.CPULoad, w.TemporaryDisk, w.Weight = wire.Int(n.CPULoad), int64(n.TmpDisk), int64(max(n.Weight, 1))
	if n.FreeMem > 0 {
		w.FreeMem = wire.Num(int64(n.FreeMem))
	}
	if n.Features != nil {
		w.Features = n.Features
	}
	w.GRES, w.GRESUsed = cmp.Or(n.GRES, w.GRES), cmp.Or(n.GRESUsed, w.GRESUsed)
	w.Comment, w.Extra, w.Reservation = n.Comment, n.Extra, n.Reservation
	w.ReasonSetByUser, w.ReasonChangedAt = n.ReasonUser, wire.Time(n.ReasonAt)
	w.BootTime, w.SlurmdStartTime, w.LastBusy = wire.Time(n.Booted), wire.Time(n.Started), wire.Time(n.LastBusy)
}

// nodeTRES writes "cpu=16,mem=62.50G,billing=16,gres/gpu=4,gres/gpu:h100=4".
func nodeTRES(cpus int, mem sbatch.MemMiB, billing int, gres []federation.GRES, count func(federation.GRES) int) string {
	out := fmt.Sprintf("cpu=%d", cpus)
	if mem > 0 { // Slurm leaves out what there is none of
		out += ",mem=" + memText(mem)
	}
	if billing > 0 {
		out += fmt.Sprintf(",billing=%d", billing)
	}
	for _, g := range gres {
		if n := count(g); n > 0 {
			out += fmt.Sprintf(",gres/%s=%d", g.Name, n)
			if g.Type != "" {
				out += fmt.Sprintf(",gres/%s:%s=%d", g.Name, g.Type, n)
			}
		}
	}
	return out
}

// partitions is GET /partitions and GET /partition/{name}: partitions of one name at several sites are one here. With cluster in
// the query it is what those sites have.
func (s *restd) partitions(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	resp := wire.PartitionsResponse{Reply: s.reply(r, c), LastUpdate: wire.Time(s.now()), Partitions: wire.List[wire.Partition]{}}
	name := r.PathValue("name")
	v := s.lister.viewOf(s.lister.sitesOf(r.URL.Query()))
	for _, m := range mergePartitions(v.sites) {
		if name == "" || m.name == name {
			p := m.record()
			if m.name == v.deflt {
				p.Flags = append(wire.Strings{"DEFAULT"}, p.Flags...)
			}
			if !newer(r, "v0.0.43") {
				p.Flags = nil
			}
			resp.Partitions = append(resp.Partitions, p)
		}
	}
	if name != "" && len(resp.Partitions) == 0 {
		return slurmErr(federation.ErrInvalid, wire.ErrPartition)
	}
	return writeJSON(w, resp)
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
	z := size{Size: demand.Size{CPUs: cpus, Nodes: len(m.nodes)}}
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
	return z.tres()
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
