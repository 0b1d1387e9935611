package restd

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// nodes is GET /nodes and GET /node/{name}: all nodes of all sites, or of those that the query's cluster names. Two sites may
// have nodes of one name; cluster_name tells them apart.
func (s *Server) nodes(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	resp := wire.NodesResponse{Reply: s.Reply(r, c), LastUpdate: wire.Time(s.Now()), Nodes: wire.List[wire.Node]{}}
	name := r.PathValue("name")
	for _, site := range s.Lister.SitesOf(r.URL.Query()) {
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
		return absentNode(name)
	}
	return write(w, r, resp)
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
	w.TemporaryDisk = int64(n.TmpDisk)
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
	w.CPULoad, w.Weight = wire.Int(n.CPULoad), int64(max(n.Weight, 1))
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
		out += ",mem=" + MemText(mem)
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
