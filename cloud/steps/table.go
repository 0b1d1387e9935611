package steps

//lint:file-ignore ST1005 Slurm's own sentences begin and end as Slurm has them.

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
	"fsub/federation/demand"
)

// table is what the steps of a run hold of its nodes, with the steps that run, wait and have ended.
// The gang's first machine has it.
type table struct {
	launch *agentapi.Launch

	mu      sync.Mutex
	next    uint32
	groups  [][]held // by group and node
	start   []int    // by group: where the next step looks for nodes first
	active  []*step
	waiting []*step // for what others hold, in the order in which they came
	over    []agentapi.Step
	closed  bool     // the run is being ended: no further steps
	lost    []string // nodes that the job goes on without
	paused  bool     // the run is suspended: the steps' own time limits stand still
}

// held is what the steps that share nothing hold of a node: a flag for each of its CPUs and GPUs.
type held struct {
	node  *agentapi.Node
	cpus  []bool
	gpus  []bool
	mem   int64
	steps int // all of them
}

// share is what a step has of a node.
type share struct {
	group, node int
	part        layout.Part
	cpus, gpus  []int // indexes into the node's
	counted     bool  // it is held: the step does not overlap
}

var (
	errClosed  = errors.New("Job/step already completing or completed")
	errMany    = errors.New("Step limit reached for this job")
	errTasks   = errors.New("Task count specification invalid")
	errNumbers = errors.New("Invalid numeric value")
)

// maxSteps is how many steps a job can have, and maxTasks how many tasks of one a node: more where
// it has more CPUs (Slurm's MaxStepCount and MaxTasksPerNode).
const (
	maxSteps = 40000
	maxTasks = 512
)

func newTable(l *agentapi.Launch) *table {
	b := &table{launch: l}
	for g := range l.Groups {
		nodes := make([]held, len(l.Groups[g].Nodes))
		for i := range nodes {
			n := &l.Groups[g].Nodes[i]
			nodes[i] = held{node: n, cpus: make([]bool, n.CPUs), gpus: make([]bool, len(n.GPUs))}
		}
		b.groups, b.start = append(b.groups, nodes), append(b.start, 0)
	}
	return b
}

// create gives a step its nodes and its number; it waits for other steps to end where it must, and
// as long as it may.
func (b *table) create(ctx context.Context, s *step) error {
	b.mu.Lock()
	_, err := b.place(s)
	if errors.Is(err, layout.ErrBusy) {
		s.waited, s.turn = true, make(chan error, 1)
		b.waiting = append(b.waiting, s)
	}
	b.mu.Unlock()
	if s.turn == nil {
		return err
	}
	var late <-chan time.Time
	if s.req.Wait > 0 {
		t := time.NewTimer(s.req.Wait)
		defer t.Stop()
		late = t.C
	}
	select {
	case err = <-s.turn:
		return err
	case <-late:
	case <-ctx.Done():
		err = errClosed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, s); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		return err
	}
	return <-s.turn // which was just then
}

// wake gives those that wait what they can have now.
func (b *table) wake() {
	b.waiting = slices.DeleteFunc(b.waiting, func(s *step) bool {
		_, err := b.place(s)
		if errors.Is(err, layout.ErrBusy) {
			return false
		}
		s.turn <- err
		return true
	})
}

func (b *table) place(s *step) (uint32, error) {
	switch {
	case b.closed:
		return 0, errClosed
	case s.req.Numbered() && b.next >= maxSteps:
		return 0, errMany
	}
	var err error
	var shares []share
	start := slices.Clone(b.start)
	for i := range s.req.Parts {
		p := &s.req.Parts[i]
		if p.Group < 0 || p.Group >= len(b.groups) {
			err = &layout.Refused{Text: "Requested het-group offset exceeds highest hetjob index (" + strconv.Itoa(p.Group) + " > " + strconv.Itoa(len(b.groups)-1) + ")"}
			break
		}
		if err = b.sane(&p.Ask, p.Group); err != nil {
			break
		}
		var parts []layout.Part
		ask := p.Ask
		ask.Start = b.start[p.Group]
		ask.NoGPUs = ask.NoGPUs || !ask.Asks() && !demand.Of(&b.launch.Groups[p.Group].Spec).AsksGPUs()
		ask.Exclude = slices.Concat(ask.Exclude, b.lostOf(p.Group))
		if parts, err = layout.Place(ask, b.free(p.Group)); err != nil {
			break
		}
		first := len(shares)
		for _, part := range parts {
			shares = append(shares, share{group: p.Group, node: part.Node, part: part, counted: !p.Ask.Overlap})
		}
		b.take(shares[first:])
		start[p.Group] = layout.Next(parts, len(b.groups[p.Group]))
		s.counts = append(s.counts, len(parts))
	}
	if errors.Is(err, layout.ErrBusy) && len(b.active) == 0 { // it is in its own way
		err = layout.Refuse(layout.TooMany)
	}
	if err != nil {
		b.release(shares)
		s.counts = nil
		return 0, err
	}
	s.shares = shares
	if s.req.Numbered() {
		s.id = b.next
		b.next++
		b.start = start
	}
	s.start = time.Now()
	b.active = append(b.active, s)
	return s.id, nil
}

// lostOf are the nodes of a group that the job goes on without: no step gets them, as if it had asked so (srun -x).
func (b *table) lostOf(group int) (names []string) {
	for i := range b.groups[group] {
		if name := b.groups[group][i].node.Name; slices.Contains(b.lost, name) {
			names = append(names, name)
		}
	}
	return names
}

// lose notes nodes that the job goes on without, and returns the steps that run.
func (b *table) lose(nodes []string) []*step {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = slices.Clone(nodes)
	b.wake()
	return slices.Clone(b.active)
}

// sane refuses numbers that no srun sends: any process of the job's user can send any, and the
// agent must not count that far.
func (b *table) sane(ask *layout.Step, group int) error {
	const most = 1 << 24
	for _, n := range []int64{int64(ask.MinNodes), int64(ask.MaxNodes), int64(ask.Tasks), int64(ask.CPUsPerTask), int64(ask.TasksPerNode), int64(ask.Relative),
		int64(ask.Plane), int64(ask.GPUs), int64(ask.GPUsPerNode), int64(ask.GPUsPerTask), int64(ask.CPUsPerGPU), max(ask.MemPerNode, 0) >> 20, ask.MemPerCPU >> 20} {
		if n < 0 || n > most {
			return errNumbers
		}
	}
	each, all := maxTasks, 0
	for i := range b.groups[group] {
		n := max(maxTasks, b.groups[group][i].node.CPUs)
		each, all = max(each, n), all+n
	}
	if ask.Tasks > all || ask.TasksPerNode > each {
		return errTasks
	}
	return nil
}

// free is what a group's nodes have for a further step.
func (b *table) free(group int) []layout.Free {
	nodes := make([]layout.Free, len(b.groups[group]))
	for i := range nodes {
		h := &b.groups[group][i]
		nodes[i] = layout.Free{
			Name: h.node.Name, CPUs: h.node.CPUs, IdleCPUs: count(h.cpus, false), Mem: h.node.MemMiB, IdleMem: h.node.MemMiB - h.mem,
			GPUs: len(h.gpus), IdleGPUs: count(h.gpus, false), Steps: h.steps,
		}
	}
	return nodes
}

func count(flags []bool, want bool) (n int) {
	for _, f := range flags {
		if f == want {
			n++
		}
	}
	return n
}

// take picks the CPUs and GPUs of shares: idle ones first; a step that overlaps may have others too.
func (b *table) take(shares []share) {
	for i := range shares {
		s := &shares[i]
		h := &b.groups[s.group][s.node]
		s.cpus = pick(h.cpus, s.part.CPUs, s.counted)
		s.gpus = pick(h.gpus, s.part.GPUs, s.counted)
		h.steps++
		if s.counted {
			h.mem += s.part.Mem
		}
	}
}

func pick(flags []bool, n int, mark bool) (ids []int) {
	for _, busy := range [...]bool{false, true} {
		for i, f := range flags {
			if len(ids) < n && f == busy && !slices.Contains(ids, i) {
				ids = append(ids, i)
			}
		}
	}
	slices.Sort(ids)
	if mark {
		for _, i := range ids {
			flags[i] = true
		}
	}
	return ids
}

func (b *table) release(shares []share) {
	for _, s := range shares {
		h := &b.groups[s.group][s.node]
		h.steps--
		if !s.counted {
			continue
		}
		h.mem -= s.part.Mem
		for _, i := range s.cpus {
			h.cpus[i] = false
		}
		for _, i := range s.gpus {
			h.gpus[i] = false
		}
	}
}

// end takes a step out of those that run.
func (b *table) end(s *step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.release(s.shares)
	b.active = slices.DeleteFunc(b.active, func(a *step) bool { return a == s })
	if s.req.Numbered() {
		b.over = append(b.over, s.status())
	}
	b.wake()
}

// close refuses further steps, and those that wait.
func (b *table) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
}

// live are the steps that run: all, or the one of that number.
func (b *table) live(id string) (steps []*step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.active {
		if id == "" || id == strconv.FormatUint(uint64(s.id), 10) && s.req.Numbered() {
			steps = append(steps, s)
		}
	}
	return steps
}

func (b *table) status() []agentapi.Step {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.Clone(b.over)
	for _, s := range b.active {
		if s.req.Numbered() {
			all = append(all, s.status())
		}
	}
	return all
}

// layout is the placement of a step, for its srun.
func (st *step) layout() wire.Layout {
	l := wire.Layout{Job: st.launch.Job, Step: st.id, Waited: st.waited, GraceMS: int(st.launch.KillWait / time.Millisecond)}
	rank0, i := 0, 0
	for part, n := range st.counts {
		tasks := 0
		for range n {
			sh := &st.shares[i]
			ranks := make([]int, len(sh.part.Ranks))
			for k, r := range sh.part.Ranks {
				ranks[k] = rank0 + r
			}
			l.Nodes = append(l.Nodes, wire.Placed{Name: st.launch.Groups[sh.group].Nodes[sh.node].Name, Part: part, Ranks: ranks, CPUs: sh.part.CPUs})
			tasks += len(ranks)
			i++
		}
		rank0 += tasks
	}
	return l
}
