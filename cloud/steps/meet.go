package steps

import (
	"fmt"
	"slices"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
)

// Bounds of what a step's MPI programs may have the first machine's agent keep for them: whatever
// its tasks send, the agent stays small. A rank needs some hundred bytes, rarely some thousand.
const (
	maxMeetings = 64
	maxHeld     = 32 << 20 // bytes, with what their names and lists take
	maxDirect   = 16 << 20 // bytes that one node says to another at a time: all that a rank has put
)

// meetings are the step's fences that are open, on the first machine.
type meetings struct {
	open []*meeting
	held int // bytes

	counted int // of held, as the run's memory knows
	mails   map[int]*mail
}

type meeting struct {
	wire.Meeting
	said map[int][]byte // by node
}

// meet takes what a node brings to a meeting, or refuses it and keeps nothing of it. It returns the
// meeting once all of its nodes have come.
func (m *meetings) meet(node, nodes int, said wire.Meeting) (over *meeting, err error) {
	if len(said.Nodes) == 0 {
		for i := range nodes {
			said.Nodes = append(said.Nodes, i)
		}
	}
	i := slices.IndexFunc(m.open, func(o *meeting) bool { return o.ID == said.ID && slices.Equal(o.Nodes, said.Nodes) })
	size := len(said.Data)
	if i < 0 {
		size += len(said.ID) + 8*len(said.Nodes)
	}
	switch {
	case i >= 0 && m.open[i].said[node] != nil, !slices.Contains(said.Nodes, node):
		return nil, fmt.Errorf("node %d comes to the same fence twice, or to one of others", node)
	case i < 0 && len(m.open) == maxMeetings, m.held+size > maxHeld:
		return nil, fmt.Errorf("its tasks exchange more than %d MiB at a time", maxHeld>>20)
	case i < 0:
		i = len(m.open)
		m.open = append(m.open, &meeting{Meeting: wire.Meeting{ID: said.ID, Nodes: said.Nodes}, said: map[int][]byte{}})
	}
	o := m.open[i]
	o.said[node] = append([]byte{}, said.Data...)
	m.held += size
	if len(o.said) < len(o.Nodes) {
		return nil, nil
	}
	m.open = slices.Delete(m.open, i, i+1)
	m.held -= len(o.ID) + 8*len(o.Nodes)
	for _, n := range o.Nodes {
		o.Data = append(o.Data, o.said[n]...)
		m.held -= len(o.said[n])
	}
	return o, nil
}

// forTasks does what a frame from a node says to the other nodes' tasks. It is false for a frame
// that is for srun.
func (st *step) forTasks(i int, f wire.Frame) bool {
	switch f.Kind {
	case wire.Meet:
		said, err := wire.JSON[wire.Meeting](f)
		if err == nil {
			err = st.meet(i, said)
		}
		if err != nil {
			st.out.Write(wire.Stderr, wire.All, []byte("slurmstepd: error: mpi: "+err.Error()+"\n"))
			st.stop(Stop{Why: agentapi.WhyCancel})
		}
	case wire.Abort: // all tasks at once, without a warning, as mpi/pmi2 has slurmctld do it
		st.out.Write(wire.Abort, f.N, nil)
		st.stop(Stop{Why: agentapi.WhyCancel})
	default:
		return false
	}
	return true
}

// meet tells all nodes of a meeting when the last of them has come.
func (st *step) meet(i int, said wire.Meeting) error {
	if said.Direct {
		return st.direct(i, said)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	over, err := st.meetings.meet(i, len(st.nodes), said)
	if err != nil {
		return err
	}
	if over == nil {
		return st.holdMeetings()
	}
	var to []*wire.Writer
	for _, n := range over.Nodes {
		if n >= 0 && n < len(st.nodes) && st.nodes[n] != nil {
			to = append(to, st.nodes[n])
		}
	}
	if len(to) == 0 {
		return st.holdMeetings() // less
	}
	l := letter{to: to, said: wire.Meeting{ID: over.ID, Nodes: said.Nodes, Data: over.Data}}
	if n := st.meetings.counted - st.meetings.held; n > 0 { // what is over is the letter's now
		l.held, st.meetings.counted = copies*n, st.meetings.held
	}
	if err := st.hold.add(max(0, letterSize-l.held)); err != nil { // then it was nearly nothing
		return err
	}
	l.held = max(l.held, letterSize)
	st.mail(everybody).post(l)
	return nil
}

// direct passes a node's message on to another. The sender is told if that node has ended, at once
// or when it ends without an answer.
func (st *step) direct(i int, said wire.Meeting) error {
	select {
	case <-st.ready: // until then a node may have no connection yet
	case <-st.done:
		return nil
	}
	switch {
	case len(said.Nodes) != 1 || said.Nodes[0] < 0:
		return nil
	case len(said.Data) > maxDirect:
		return fmt.Errorf("a task has put more than %d MiB for others", maxDirect>>20)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	var to *wire.Writer
	from, n := st.nodes[i], said.Nodes[0]
	if n < len(st.nodes) {
		to = st.nodes[n]
	}
	if to != nil && !slices.Contains(st.heard[n], i) {
		if st.heard == nil {
			st.heard = map[int][]int{}
		}
		st.heard[n] = append(st.heard[n], i)
	}
	switch {
	case to != nil:
		return st.post(n, to, wire.Meeting{Direct: true, Nodes: []int{i}, Data: said.Data})
	case from != nil:
		return st.post(i, from, wire.Meeting{Direct: true, Nodes: []int{n}})
	}
	return nil
}

// post queues a message to a node, if the run's memory has room for it until it is delivered. The
// caller holds mu.
func (st *step) post(node int, to *wire.Writer, said wire.Meeting) error {
	held := letterSize + copies*len(said.Data)
	if err := st.hold.add(held); err != nil {
		return err
	}
	st.mail(node).post(letter{[]*wire.Writer{to}, said, held})
	return nil
}

// gone notes that a node has ended, and tells those that may wait for an answer of it: nothing, in its name.
func (st *step) gone(n int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.nodes[n] = nil
	for _, i := range st.heard[n] {
		if w := st.nodes[i]; w != nil { // once for each two nodes, so that nothing needs to be held
			st.mail(i).post(letter{to: []*wire.Writer{w}, said: wire.Meeting{Direct: true, Nodes: []int{n}}})
		}
	}
	delete(st.heard, n)
}

// holdMeetings holds what the step's meetings have, and the copies of it that are made to tell of
// them. The caller holds mu.
func (st *step) holdMeetings() error {
	m := &st.meetings
	err := st.hold.add(copies * (m.held - m.counted))
	if err == nil {
		m.counted = m.held
	}
	return err
}
