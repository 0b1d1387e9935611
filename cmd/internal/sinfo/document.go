package sinfo

import (
	"fmt"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// document is what --json and --yaml write: one entry for each group of nodes that are alike, in
// the shape of data_parser v0.0.42.
type document struct {
	Sinfo wire.List[docEntry] `json:"sinfo"`
	wire.Reply
}

type docEntry struct {
	Port int64 `json:"port"`
	Node struct {
		State wire.Strings `json:"state"`
	} `json:"node"`
	Nodes    docNodes `json:"nodes"`
	CPUs     docCPUs  `json:"cpus"`
	Sockets  docRange `json:"sockets"`
	Cores    docRange `json:"cores"`
	Threads  docRange `json:"threads"`
	Disk     docRange `json:"disk"`
	Memory   docMem   `json:"memory"`
	Weight   docRange `json:"weight"`
	Features struct {
		Total  string `json:"total"`
		Active string `json:"active"`
	} `json:"features"`
	GRES struct {
		Total string `json:"total"`
		Used  string `json:"used"`
	} `json:"gres"`
	Cluster string `json:"cluster"`
	Comment string `json:"comment"`
	Extra   string `json:"extra"`
	Reason  struct {
		Description string `json:"description"`
		Time        int64  `json:"time"`
		User        string `json:"user"`
	} `json:"reason"`
	Reservation  string `json:"reservation"`
	ResourceSpec struct {
		CPUs   string `json:"cpus"`
		Memory int64  `json:"memory"`
	} `json:"resource_spec"`
	Partition wire.Partition `json:"partition"`
}

type docRange struct {
	Minimum int64 `json:"minimum"`
	Maximum int64 `json:"maximum"`
}

type docNodes struct {
	Allocated int          `json:"allocated"`
	Idle      int          `json:"idle"`
	Other     int          `json:"other"`
	Total     int          `json:"total"`
	Hostnames wire.Strings `json:"hostnames"`
	Addresses wire.Strings `json:"addresses"`
	Nodes     wire.Strings `json:"nodes"`
}

type docCPUs struct {
	Allocated int `json:"allocated"`
	Idle      int `json:"idle"`
	Other     int `json:"other"`
	Total     int `json:"total"`
	docRange
	Load    docRange `json:"load"`
	PerNode struct {
		Max wire.Number `json:"max"`
	} `json:"per_node"`
}

type docMem struct {
	docRange
	Free struct {
		Minimum wire.Number `json:"minimum"`
		Maximum wire.Number `json:"maximum"`
	} `json:"free"`
	Allocated int64 `json:"allocated"`
}

// docFormat are the fields that keep nodes apart in the document: all that are not sums or sizes.
const docFormat = "Partition,Available,Time,StateComplete,Features,features_act,Gres,GresUsed,AllocMem,Reason,User,TimeStamp,Reservation,Cluster,Comment,Extra"

func (c *command) printDocument(cells []cell, reply wire.Reply) error {
	_, names := c.fields()
	layout, _ := show.LongFormat(docFormat, names)
	out := document{Reply: reply}
	for _, g := range c.group(cells, layout) {
		out.Sinfo = append(out.Sinfo, describe(g))
	}
	if err := show.Document(c.stdout, &out, &out.Reply, "sinfo", c.args, c.yaml); err != nil {
		return fmt.Errorf("sinfo: error: %w", err)
	}
	return nil
}

func describe(g *group) docEntry {
	span := func(of func(*wire.Node) int64) docRange { low, high := g.span(of); return docRange{low, high} }
	e := docEntry{Partition: *g.part}
	e.Partition.Flags = nil // from v0.0.43
	e.Nodes.Allocated, e.Nodes.Idle, e.Nodes.Other, e.Nodes.Total = g.nodeCounts()
	for _, n := range g.nodes {
		e.Nodes.Nodes = append(e.Nodes.Nodes, n.Name)
	}
	e.CPUs.Allocated, e.CPUs.Idle, e.CPUs.Other, e.CPUs.Total = g.cpuCounts()
	e.CPUs.docRange, e.CPUs.Load = span(func(n *wire.Node) int64 { return n.CPUs }), span(func(n *wire.Node) int64 { return int64(n.CPULoad) })
	e.CPUs.PerNode.Max = g.part.Maximums.CPUsPerNode
	e.Sockets, e.Cores = span(func(n *wire.Node) int64 { return n.Sockets }), span(func(n *wire.Node) int64 { return n.Cores })
	e.Threads, e.Disk = span(func(n *wire.Node) int64 { return n.Threads }), span(func(n *wire.Node) int64 { return n.TemporaryDisk })
	e.Weight, e.Memory.docRange = span(func(n *wire.Node) int64 { return n.Weight }), span(func(n *wire.Node) int64 { return n.RealMemory })
	free := span(func(n *wire.Node) int64 { return n.FreeMem.Number })
	if n := g.first(); n != nil {
		if n.FreeMem.Set {
			e.Memory.Free.Minimum, e.Memory.Free.Maximum = wire.Num(free.Minimum), wire.Num(free.Maximum)
		}
		e.Port, e.Node.State, e.Memory.Allocated = n.Port, n.State, n.AllocMemory
		e.Features.Total, e.Features.Active = strings.Join(n.Features, ","), strings.Join(n.ActiveFeatures, ",")
		e.GRES.Total, e.GRES.Used, e.Cluster, e.Comment, e.Extra, e.Reservation = n.GRES, n.GRESUsed, n.ClusterName, n.Comment, n.Extra, n.Reservation
		e.Reason.Description, e.Reason.Time, e.Reason.User = n.Reason, n.ReasonChangedAt.Value(), n.ReasonSetByUser
	}
	return e
}
