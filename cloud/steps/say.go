package steps

import (
	"io"
	"slices"
	"strconv"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
)

// toNodes sends a frame to all nodes that are there.
func (st *step) toNodes(k wire.Kind, n uint32, payload []byte) {
	st.mu.Lock()
	nodes := append([]*wire.Writer(nil), st.nodes...)
	st.mu.Unlock()
	for _, w := range nodes {
		if w != nil {
			w.Write(k, n, payload)
		}
	}
}

// timeOut ends a step whose own time limit is over.
func (st *step) timeOut(grace time.Duration) {
	st.mu.Lock()
	st.tally.timeout = !st.ended && st.tally.stopped == ""
	st.mu.Unlock()
	st.stop(Stop{agentapi.WhyTimeout, grace})
}

// stop ends the step.
func (st *step) stop(s Stop) {
	st.mu.Lock()
	if st.ended || st.tally.stopped != "" {
		st.mu.Unlock()
		return
	}
	st.tally.stopped = s.Why
	if s.Why == agentapi.WhyExit {
		st.tally.stopped = agentapi.WhyCancel
	}
	st.stops = &s
	begun := st.begun
	st.mu.Unlock()
	if begun {
		st.say(s.Why)
	}
	st.toNodes(wire.Kill, uint32(s.Grace/time.Millisecond), nil)
}

// begin is called when srun knows of the step.
func (st *step) begin(nodes int) {
	st.mu.Lock()
	st.nodes, st.begun = make([]*wire.Writer, nodes), true
	stops := st.stops
	st.mu.Unlock()
	if stops != nil {
		st.say(stops.Why)
	}
}

// connected notes a node's connection. A task of another node, or the job's end, may have ended the
// step by then.
func (st *step) connected(i int, c io.Closer, w *wire.Writer) {
	st.mu.Lock()
	st.nodes[i] = w
	if st.conns == nil {
		st.conns = map[int]io.Closer{}
	}
	st.conns[i] = c
	stops := st.stops
	st.mu.Unlock()
	if stops != nil {
		w.Write(wire.Kill, uint32(stops.Grace/time.Millisecond), nil)
	}
}

// drop breaks the connections to nodes that are lost.
func (st *step) drop(nodes []string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range st.shares {
		sh := &st.shares[i]
		if c := st.conns[i]; c != nil && slices.Contains(nodes, st.launch.Groups[sh.group].Nodes[sh.node].Name) {
			c.Close()
		}
	}
}

// Lose implements [Steps].
func (s *Service) Lose(name string, nodes []string) {
	r := s.run(name)
	if r == nil || r.table == nil {
		return
	}
	for _, st := range r.table.lose(nodes) {
		st.drop(nodes)
	}
}

// signal sends a signal to all nodes, once they are connected and have those that came before it.
func (st *step) signal(sig syscall.Signal) {
	st.mu.Lock()
	if jobControl(sig) { // as in the kernel, the last one counts
		st.pending = slices.DeleteFunc(st.pending, jobControl)
	}
	st.pending = append(st.pending, sig)
	another := st.sending
	st.sending = true
	st.mu.Unlock()
	if another {
		return
	}
	select {
	case <-st.ready:
		st.sendPending()
	default:
		go func() {
			select {
			case <-st.ready:
				st.sendPending()
			case <-st.done:
			}
		}()
	}
}

// jobControl reports whether a signal stops processes or lets them go on.
func jobControl(sig syscall.Signal) bool {
	return sig == syscall.SIGSTOP || sig == syscall.SIGTSTP || sig == syscall.SIGCONT
}

// sendPending sends the pending signals in order. Only one goroutine at a time does so.
func (st *step) sendPending() {
	for {
		st.mu.Lock()
		if len(st.pending) == 0 {
			st.sending = false
			st.mu.Unlock()
			return
		}
		sig := st.pending[0]
		st.pending = st.pending[1:]
		st.mu.Unlock()
		if sig == syscall.SIGTERM { // as its slurmstepd does, and without srun's words: the tasks may bear it
			st.out.Write(wire.Stderr, wire.All, []byte(st.cancelLine("")))
		}
		st.toNodes(wire.Signal, uint32(sig), nil)
	}
}

// say tells the step's stderr of its end, as its first node's slurmstepd would.
func (st *step) say(why agentapi.Why) {
	st.mu.Lock()
	again := st.said
	st.said = true
	st.mu.Unlock()
	if again {
		return
	}
	because := ""
	switch why {
	case agentapi.WhyTimeout:
		because = " DUE TO TIME LIMIT"
	case agentapi.WhyPreempt:
		because = " DUE TO PREEMPTION"
	case agentapi.WhyNode:
		because = " DUE TO NODE FAILURE"
	}
	st.out.Write(wire.Cancelled, 0, []byte(st.cancelLine(because)))
}

func (st *step) cancelLine(because string) string {
	first := &st.shares[0]
	return "slurmstepd: error: *** STEP " + st.name() + " ON " + st.launch.Groups[first.group].Nodes[first.node].Name + " CANCELLED AT " +
		time.Now().Format("2006-01-02T15:04:05") + because + " ***\n"
}

// name is "JOB.STEP".
func (st *step) name() string {
	return strconv.FormatUint(uint64(st.launch.Job), 10) + "." + strconv.FormatUint(uint64(st.id), 10)
}

// lose notes that a node is not there any more.
func (st *step) lose(i int, err error) {
	st.mu.Lock()
	st.nodes[i] = nil
	st.tally.lost = true
	st.mu.Unlock()
	st.out.Write(wire.NodeLost, uint32(i), []byte(err.Error()))
}
