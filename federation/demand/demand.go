package demand

import (
	"slices"
	"strings"
	"time"

	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// Demand is what a job needs. It is made by [Of], shared, and never changed. Zero numbers and empty texts say that nothing was asked for.
type Demand struct {
	MinNodes, MaxNodes int // MaxNodes 0: as many as it takes
	NodeSizes          Sizes
	Tasks              int
	TasksPerNode       int
	TasksPerGPU        int
	CPUsPerTask        int
	CPUsPerGPU         int
	MinCPUs            int // of each node
	Memory             Memory
	TmpDisk            sbatch.MemMiB // of each node

	// GRES are the resources with a count above 0. Of each name, type and basis there is one.
	GRES []GRES

	Sockets, Cores, Threads int  // of a node, a socket, a core, as [sbatch.More.Layout] has them
	Overcommit              bool // all tasks of a node share one CPU
	Spread, UseMinNodes     bool
	Whole                   bool // the job wants nodes that run nothing else: --exclusive, but not =user or =mcs

	// Constraint is nil if nothing was asked for, and if the expression cannot be read. Features is its text.
	Constraint *Constraint
	Features   string

	Partitions        []string // empty: the site's default
	QOS               string
	Reservation       string
	NodeList, Exclude string // host lists

	Switches     int           // at most so many leaf switches
	SwitchesWait time.Duration // for how long the job waits for them; 0: as the site has it
	Segment      int           // nodes of one block
	Contiguous   bool
	Alone        bool   // no other job on its leaves: --exclusive=topo
	Traffic      string // see [topology.Traffic]; "": not said
	Licenses     string

	TimeLimit, TimeMin time.Duration // TimeLimit may be [sbatch.Unlimited]

	Clusters        []string // sites that --clusters names; empty: all
	Sites, NotSites []string
	MaxCost         float64  // US dollars for the whole job
	Plugins         []string // options that a site must have

	// Alternatives are the kinds of GPU that will do, if the job says so and asks for GPUs. What it asks for itself is one of them only if it
	// is named.
	Alternatives []Alternative
	// Components are those of a heterogeneous job after the first.
	Components []*Demand

	id      uint64
	text    int
	refused error
}

// GRES is a generic resource that is asked for. Type "" is any type.
type GRES struct {
	gres.Resource
	Per Basis
}

// Basis is what an amount is for.
type Basis uint8

const (
	PerNode Basis = iota
	PerJob
	PerTask
	PerSocket
	PerCPU
	PerGPU
)

// Memory is how much is asked for, of what. An amount of [sbatch.MemAll] is all memory of a node; 0 is as the partition has it.
type Memory struct {
	Amount sbatch.MemMiB
	Per    Basis // PerNode, PerCPU or PerGPU
}

// Alternative is a demand with GPUs of another kind.
type Alternative struct {
	As     string // "TYPE" or "TYPE:FACTOR", as the user wrote it
	Demand *Demand
}

// ID is a number that no other demand of this process has, or ever had. Jobs are alike if the IDs of their demands are equal.
func (d *Demand) ID() uint64 { return d.id }

// Text is how long the text is that d was read from.
func (d *Demand) Text() int { return d.text }

// Equal reports whether d and e are one demand, for those who compare jobs.
func (d *Demand) Equal(e *Demand) bool { return d == e }

// Refused is why no Slurm takes what was asked for ([gres.ErrSyntax], [gres.ErrTypes], [ErrFeatures]); nil if it can be understood. Such a job is refused
// when it is submitted. In one that was accepted before, what cannot be read is left out: then the site judges it.
func (d *Demand) Refused() error { return d.refused }

func read(s *sbatch.Spec) *Demand {
	d := &Demand{
		MinNodes: s.MinNodes, MaxNodes: s.MaxNodes, Tasks: s.NTasks, TasksPerNode: s.NTasksPerNode, CPUsPerTask: s.CPUsPerTask,
		Whole:    s.Exclusive == "exclusive" || s.Exclusive == "topo",
		Alone:    s.Exclusive == "topo",
		Features: s.Constraint, QOS: s.QOS, Reservation: s.Reservation, NodeList: s.NodeList, Exclude: s.Exclude,
		Switches: s.Switches, SwitchesWait: s.SwitchesWait, TimeLimit: s.TimeLimit, TimeMin: s.TimeMin,
	}
	switch {
	case s.MemPerNode != 0:
		d.Memory = Memory{s.MemPerNode, PerNode}
	case s.MemPerCPU > 0:
		d.Memory = Memory{s.MemPerCPU, PerCPU}
	case s.MemPerGPU > 0:
		d.Memory = Memory{s.MemPerGPU, PerGPU}
	}
	d.readMore(s.More)
	d.refused = d.readGRES(s)
	var err error
	if d.Constraint, err = ParseConstraint(s.Constraint); err != nil && d.refused == nil {
		d.refused = err
	}
	d.Partitions = names(s.Partition)
	if s.Clusters != "all" {
		d.Clusters = names(s.Clusters)
	}
	if f := s.Fed; f != nil {
		d.Sites, d.NotSites, d.MaxCost, d.Traffic = f.Sites, f.NotSites, f.MaxCost, f.Traffic
	}
	for _, o := range s.Plugin {
		d.Plugins = append(d.Plugins, o.Name)
	}
	d.readAlternatives(s)
	for i := range s.Het {
		c := Of(&s.Het[i])
		d.Components = append(d.Components, c)
		if d.refused == nil {
			d.refused = c.refused
		}
	}
	return d
}

func (d *Demand) readMore(m *sbatch.More) {
	if m == nil {
		return
	}
	d.NodeSizes, d.TasksPerGPU, d.CPUsPerGPU, d.MinCPUs, d.TmpDisk = Sizes(m.NodeSizes), max(m.NTasksPerGPU, m.NTasksPerTRES), m.CPUsPerGPU, m.MinCPUs, m.TmpDisk
	d.Sockets, d.Cores, d.Threads, _ = m.Layout()
	d.Overcommit, d.Spread, d.UseMinNodes = m.Overcommit, m.SpreadJob, m.UseMinNodes
	d.Segment, d.Contiguous, d.Licenses = m.Segment, m.Contiguous, m.Licenses
}

// names are those of a list with commas.
func names(list string) []string {
	if list == "" {
		return nil
	}
	var out []string
	for name := range strings.SplitSeq(list, ",") {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Asks reports whether the job asks for a site, or names none.
func (d *Demand) Asks(site string) bool {
	return (len(d.Clusters) == 0 || slices.Contains(d.Clusters, site)) && (len(d.Sites) == 0 || slices.Contains(d.Sites, site)) && !slices.Contains(d.NotSites, site)
}
