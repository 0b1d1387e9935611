package scontrol

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// showNodes is "show nodes [LIST]". Two sites may have nodes of one name: then both are shown, unless the list is SITE/LIST.
func (c *command) showNodes(list string, given bool) int {
	if given && list == "" {
		return 0
	}
	var resp wire.NodesResponse
	if c.load("slurm_load_node", wire.Slurm(restVersion, wire.PathNodes)+c.clusters.query(), &resp) != nil {
		return 1
	}
	nodes := resp.Nodes
	if list == "" {
		for i := range nodes {
			c.printNode(&nodes[i])
		}
		if len(nodes) == 0 {
			fmt.Fprintln(c.stdout, "No nodes in the system")
		}
		return 0
	}
	site, hosts, ofSite := strings.Cut(list, "/")
	if !ofSite {
		hosts = list
	}
	names, err := hostlist.Expand(hosts)
	if err != nil {
		names = []string{hosts}
	}
	exit := 0
	for _, name := range names {
		found := false
		for i := range nodes {
			if nodes[i].Name == name && (!ofSite || nodes[i].ClusterName == site) {
				found = true
				c.printNode(&nodes[i])
			}
		}
		if !found {
			fmt.Fprintf(c.stdout, "Node %s not found\n", name)
			exit = 1
		}
	}
	return exit
}

// printNode writes one record. What a site does not report looks as Slurm shows a node that never came up.
func (p *printer) printNode(n *wire.Node) {
	r := p.record()
	arch := ""
	if n.Architecture != "" {
		arch = "Arch=" + n.Architecture + " "
	}
	r.line("NodeName=%s %sCoresPerSocket=%d ", n.Name, arch, n.Cores)
	load := "N/A"
	if n.FreeMem.Set || n.CPULoad > 0 || n.State.Has("CLOUD") {
		load = fmt.Sprintf("%.2f", float64(n.CPULoad)/100)
	}
	r.line("CPUAlloc=%d CPUEfctv=%d CPUTot=%d CPULoad=%s", n.AllocCPUs, n.EffectiveCPUs, n.CPUs, load)
	r.line("AvailableFeatures=%s", show.OrNull(strings.Join(n.Features, ",")))
	r.line("ActiveFeatures=%s", show.OrNull(strings.Join(n.ActiveFeatures, ",")))
	r.line("Gres=%s", show.OrNull(n.GRES))
	version := ""
	if n.Version != "" {
		version = "Version=" + n.Version
	}
	r.line("NodeAddr=%s NodeHostName=%s %s%s", n.Address, n.Hostname, portText(n.Port), version)
	if n.OperatingSystem != "" {
		r.line("OS=%s ", n.OperatingSystem)
	}
	r.line("RealMemory=%d AllocMem=%d FreeMem=%s Sockets=%d Boards=%d", n.RealMemory, n.AllocMemory, freeText(n.FreeMem), n.Sockets, n.Boards)
	r.line("State=%s ThreadsPerCore=%d TmpDisk=%d Weight=%d Owner=%s MCS_label=%s", strings.Join(n.State, "+"), n.Threads, n.TemporaryDisk, n.Weight,
		cmp.Or(n.Owner, "N/A"), cmp.Or(n.MCSLabel, "N/A"))
	if len(n.Partitions) > 0 {
		r.line("Partitions=%s ", strings.Join(n.Partitions, ","))
	}
	r.line("BootTime=%s SlurmdStartTime=%s", p.at(n.BootTime, "None"), p.at(n.SlurmdStartTime, "None"))
	r.line("LastBusyTime=%s ResumeAfterTime=%s", p.at(n.LastBusy, "Unknown"), p.at(n.ResumeAfter, "None"))
	r.line("CfgTRES=%s", n.TRES)
	r.line("AllocTRES=%s", n.TRESUsed)
	r.line("CurrentWatts=%d AveWatts=%d", n.Energy.CurrentWatts.Value(), n.Energy.AverageWatts)
	if n.Reason != "" { // after an empty line, in 24.11
		r.b.WriteString(r.sep + "Reason=" + n.Reason + p.reasonBy(n))
	}
	p.end(r)
}

// portText is slurmd's port, unless it is the usual one.
func portText(port int64) string {
	if port == 0 || port == 6818 {
		return ""
	}
	return "Port=" + strconv.FormatInt(port, 10) + " "
}

func freeText(n wire.Number) string {
	if !n.Set {
		return "N/A"
	}
	return strconv.FormatInt(n.Number, 10)
}

// reasonBy is who gave a node's reason and when: " [root@2026-11-20T17:31:14]".
func (p *printer) reasonBy(n *wire.Node) string {
	if n.ReasonChangedAt.Value() == 0 {
		return ""
	}
	return " [" + n.ReasonSetByUser + "@" + p.times.Unix(n.ReasonChangedAt.Number) + "]"
}
