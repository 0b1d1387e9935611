package layout

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"errors"
	"slices"
)

// Step is what srun asks of its job's nodes. The zero value of a field means "not asked for".
type Step struct {
	MinNodes     int      `json:"min_nodes,omitempty"`
	MaxNodes     int      `json:"max_nodes,omitempty"`
	Tasks        int      `json:"tasks,omitempty"` // 0: as many as the nodes are, or as their CPUs allow where CPUsPerTask is set
	CPUsPerTask  int      `json:"cpus_per_task,omitempty"`
	TasksPerNode int      `json:"tasks_per_node,omitempty"`
	Nodes        []string `json:"nodes,omitempty"` // that must be among them; with the distribution "arbitrary" one for each task
	Exclude      []string `json:"exclude,omitempty"`
	Relative     int      `json:"relative,omitempty"` // leave out so many of the job's first nodes
	Start        int      `json:"-"`                  // the node from which on others are looked for: see [Next]
	// Distribution is how ranks go over nodes: "block", "cyclic", "plane", "arbitrary"; "": see [Default].
	Distribution string `json:"distribution,omitempty"`
	Plane        int    `json:"plane,omitempty"` // size of the plane
	Pack         bool   `json:"pack,omitempty"`  // no more nodes than do
	Exact        bool   `json:"exact,omitempty"` // take the CPUs of the tasks only, not those of the whole node
	Overlap      bool   `json:"overlap,omitempty"`
	Overcommit   bool   `json:"overcommit,omitempty"`

	MemPerNode int64 `json:"mem_per_node,omitempty"` // MiB; -1: all of the job's there; 0: memory is not counted. At most one of the two is set
	MemPerCPU  int64 `json:"mem_per_cpu,omitempty"`

	NoGPUs      bool `json:"no_gpus,omitempty"`
	GPUs        int  `json:"gpus,omitempty"` // of the whole step. None of these set: all that the job has
	GPUsPerNode int  `json:"gpus_per_node,omitempty"`
	GPUsPerTask int  `json:"gpus_per_task,omitempty"`
	CPUsPerGPU  int  `json:"cpus_per_gpu,omitempty"`
	ByGPU       bool `json:"by_gpu,omitempty"` // something else goes by GPUs, so it has all unless a number of them is set
}

// Free is one node of a job as a step finds it: what the job has of it, and what of that no other step holds.
type Free struct {
	Name           string
	CPUs, IdleCPUs int
	Mem, IdleMem   int64 // MiB; Mem 0: no limit is kept
	GPUs, IdleGPUs int
	Steps          int // that run there
}

// Part is what a step has of one node.
type Part struct {
	Node  int // index into what was given to Place
	CPUs  int
	Mem   int64 // MiB
	GPUs  int
	Ranks []int // of its tasks, in the order of SLURM_LOCALID
}

// errNoFit: the nodes that were looked at do not do; others may.
var errNoFit = errors.New("the step does not fit on these nodes")

// ErrBusy: the step would fit if other steps of the job were over.
var ErrBusy = errors.New("Requested nodes are busy")

// Refused is a step that never fits.
type Refused struct {
	Code Code   // 0: srun refuses by itself, in words of its own
	Text string // srun's, without "srun: error: "; there may be several lines
}

func (r *Refused) Error() string { return r.Text }

// Tried: srun says that it was unable to create the step, and why; otherwise it has not tried.
func (r *Refused) Tried() bool { return r.Code != 0 }

// Code is slurmctld's number for why it does not create a step.
type Code int

const (
	TooMany  Code = 2005 // the job has too few CPUs
	NoNodes  Code = 2014 // nodes that are asked for are not of use
	NoMemory Code = 2044
	NoGPUs   Code = 2072
)

func (c Code) String() string {
	switch c {
	case TooMany:
		return "More processors requested than permitted"
	case NoNodes:
		return "Requested node configuration is not available"
	case NoMemory:
		return "Memory required by task is not available"
	case NoGPUs:
		return "Invalid generic resource (gres) specification"
	}
	return ""
}

// Refuse is slurmctld's refusal of a step.
func Refuse(c Code) *Refused { return &Refused{Code: c, Text: c.String()} }

// Asks reports whether GPUs are spoken of: a step of a job that has whole nodes without having asked for GPUs has none, unless it does (24.11 and 26.05).
func (s *Step) Asks() bool { return asksGPUs(*s) || s.ByGPU }

func asksGPUs(s Step) bool { return s.GPUs+s.GPUsPerNode+s.GPUsPerTask+s.CPUsPerGPU > 0 }

// errNoChoice: the nodes together have too little, from whichever of them on.
var errNoChoice = errors.New("no nodes to choose")

// Place lays out a step over the nodes of its job, which are in the order of SLURM_JOB_NODELIST. The parts are in the order of the nodes, or of
// s.Nodes where the distribution is "arbitrary". Errors are ErrBusy and *Refused.
func Place(s Step, nodes []Free) ([]Part, error) {
	if s.Asks() && !slices.ContainsFunc(nodes, func(n Free) bool { return n.GPUs > 0 }) {
		return nil, Refuse(NoGPUs)
	}
	whole := slices.Clone(nodes)
	for i := range whole {
		n := &whole[i]
		n.IdleCPUs, n.IdleMem, n.IdleGPUs, n.Steps = n.CPUs, n.Mem, n.GPUs, 0
	}
	var refused *Refused
	for from, k := s, 0; k < starts(s, nodes); k++ { // what does not fit from where it is to start may fit from another node on
		from.Start = (s.Start + k) % max(len(nodes), 1)
		parts, err := place(from, nodes)
		if err == nil {
			return parts, nil
		}
		if _, err = place(from, whole); err == nil {
			return nil, ErrBusy
		}
		if k == 0 || from.Start == 0 {
			refused, _ = errors.AsType[*Refused](err)
		}
		if errors.Is(err, errNoChoice) {
			break
		}
	}
	if refused != nil {
		return nil, refused
	}
	return nil, never(s, whole)
}

// starts is from how many nodes on a step is to be tried: where they are alike, or it always starts at the first, what it finds from one it finds from all.
func starts(s Step, nodes []Free) int {
	differ := slices.ContainsFunc(nodes, func(n Free) bool {
		n.Name = nodes[0].Name
		return n != nodes[0]
	})
	if !differ || len(s.Exclude) > 0 || s.Distribution == "arbitrary" && len(s.Nodes) > 0 {
		return 1
	}
	return len(nodes)
}

// Next is the Start of the step after one that has those parts: the node after its last one, so that small steps go round the nodes (24.11).
func Next(parts []Part, nodes int) int {
	last := -1
	for i := range parts {
		last = max(last, parts[i].Node)
	}
	return (last + 1) % nodes
}

// never says why a step does not fit on a job that runs nothing else.
func never(s Step, nodes []Free) error {
	enough := func(has func(n *Free) bool) bool {
		count := 0
		for i := range nodes {
			if has(&nodes[i]) {
				count++
			}
		}
		return count >= max(s.MinNodes, 1)
	}
	switch {
	case !s.NoGPUs && !enough(func(n *Free) bool { return n.GPUs >= max(s.GPUsPerNode, s.GPUsPerTask) }):
		return Refuse(NoGPUs)
	case !slices.ContainsFunc(nodes, func(n Free) bool { return n.CPUs >= s.CPUsPerTask }):
		return Refuse(TooMany)
	case !enough(func(n *Free) bool { return n.Mem == 0 || memOf(s, n, max(s.CPUsPerTask, 1)) <= n.Mem }):
		return Refuse(NoMemory)
	case tooFewGPUs(s, nodes):
		return Refuse(NoGPUs)
	case len(s.Nodes)+len(s.Exclude) > 0 && max(s.MinNodes, s.MaxNodes) < len(nodes):
		return Refuse(NoNodes)
	}
	return Refuse(TooMany)
}

// place works with what is idle. Any error but *Refused means that it does not fit.
func place(s Step, nodes []Free) ([]Part, error) {
	if s.Distribution == "arbitrary" && len(s.Nodes) > 0 {
		return placeArbitrary(s, nodes)
	}
	usable, err := candidates(s, nodes)
	if err != nil {
		return nil, err
	}
	chosen, err := choose(s, nodes, usable)
	if err != nil {
		return nil, err
	}
	if s.Tasks == 0 {
		s.Tasks = tasksOf(s, nodes, chosen)
	}
	counts := turns(s, caps(s, nodes, chosen), s.Tasks)
	parts := make([]Part, len(chosen))
	for i, n := range chosen {
		parts[i].Node = n
	}
	number(s, parts, counts)
	return parts, fill(s, nodes, parts)
}

// fill gives the parts what their tasks take of the nodes.
func fill(s Step, nodes []Free, parts []Part) error {
	if err := fillGPUs(s, nodes, parts); err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		n := &nodes[p.Node]
		each := min(n.CPUs, len(p.Ranks)*max(s.CPUsPerTask, 1))
		p.CPUs = n.CPUs
		if s.Exact {
			p.CPUs = each
		}
		if s.CPUsPerGPU > 0 {
			if p.GPUs == 0 {
				return errNoFit
			}
			if p.CPUs = max(s.CPUsPerGPU*p.GPUs, each); s.Overcommit {
				p.CPUs = min(p.CPUs, n.CPUs)
			}
		}
		if p.Mem = memOf(s, n, p.CPUs); s.Distribution != "arbitrary" && memOf(s, n, each) <= n.Mem { // CPUs beside those of the tasks need none
			p.Mem = min(p.Mem, n.Mem)
		}
		if !fits(s, n, p) {
			return errNoFit
		}
	}
	return nil
}

// memOf is the memory of a step's part with so many CPUs.
func memOf(s Step, n *Free, cpus int) int64 {
	switch {
	case s.MemPerNode < 0:
		return n.Mem
	case s.MemPerNode > 0:
		return s.MemPerNode
	case s.Overcommit: // whoever has enough for one CPU may run
		return max(s.MemPerCPU, min(n.Mem, s.MemPerCPU*int64(cpus)))
	}
	return s.MemPerCPU * int64(cpus)
}

// fits: steps that may overlap need what the job has, others what is idle of it.
func fits(s Step, n *Free, p *Part) bool {
	cpus, mem, gpus := n.IdleCPUs, n.IdleMem, n.IdleGPUs
	if s.Overlap {
		cpus, mem, gpus = n.CPUs, n.Mem, n.GPUs
	}
	return p.CPUs <= cpus && (n.Mem == 0 || p.Mem <= mem) && p.GPUs <= gpus
}
