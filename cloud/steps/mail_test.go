package steps

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"fsub/cloud/steps/wire"
)

// answering is a server for MPI programs that is asked by some bytes, and answers with many.
type answering struct {
	mpi
	up   *mpiUp
	size int
	got  *sync.WaitGroup // the answers
}

func (a *answering) met(m wire.Meeting) error {
	switch len(m.Data) {
	case 1:
		a.up.Send(m.Nodes[0], make([]byte, a.size))
	case a.size:
		a.got.Done()
	default:
		return errors.New("what is this")
	}
	return nil
}

// TestDirectBothWays: nodes that ask each other for much at the same time all get it, through lines that hold nothing: each one's answers wait for the other's reader.
func TestDirectBothWays(t *testing.T) {
	const nodes, asked = 3, 10
	m := newMemory()
	st := &step{hold: m.holding(), ready: make(chan struct{}), out: wire.NewWriter(&bytes.Buffer{})}
	close(st.ready)
	var got sync.WaitGroup
	var ups []*mpiUp
	for i := range nodes {
		agent, node := net.Pipe()
		t.Cleanup(func() { agent.Close(); node.Close() })
		st.nodes = append(st.nodes, wire.NewWriter(agent))
		d := &daemon{n: &wire.NodeLaunch{Node: i}, out: wire.NewWriter(node)}
		up := &mpiUp{d: d}
		d.mpi = &answering{up: up, size: 64 << 10, got: &got}
		ups = append(ups, up)
		got.Add(asked * (nodes - 1))
		go func() { // as conductNode does
			in := wire.NewReader(bufio.NewReader(agent))
			for f, err := in.Read(); err == nil; f, err = in.Read() {
				st.forTasks(i, f)
			}
		}()
		go func() { // as obey does
			in := wire.NewReader(bufio.NewReader(node))
			for f, err := in.Read(); err == nil; f, err = in.Read() {
				d.give(f)
			}
		}()
	}
	for range asked {
		for i, up := range ups {
			for k := range nodes {
				if k != i {
					up.Send(k, []byte("?"))
				}
			}
		}
	}
	got.Wait()
}

// TestFenceOfStuckNode: who says that a fence is over does not wait for a node that does not read, and what that is to be told is held until it has gone.
func TestFenceOfStuckNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		st := &step{hold: m.holding(), ready: make(chan struct{})}
		var nodes [2]net.Conn
		for i := range nodes {
			var agent net.Conn
			agent, nodes[i] = net.Pipe()
			st.nodes = append(st.nodes, wire.NewWriter(agent))
		}
		close(st.ready)
		data := make([]byte, 1000)
		for i := range 2 {
			if err := st.meet(i, wire.Meeting{ID: "a", Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.meet(0, wire.Meeting{Direct: true, Nodes: []int{1}, Data: data}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if m.held < 2*copies*len(data) {
			t.Errorf("%d bytes are held", m.held)
		}
		nodes[0].Close()
		nodes[1].Close()
		synctest.Wait()
		if m.held != 0 {
			t.Errorf("%d bytes are held of nothing", m.held)
		}
	})
}

// TestDirectBounds: what nodes say to each other is the agent's to hold until it is read, and so has bounds.
func TestDirectBounds(t *testing.T) {
	agent, node := net.Pipe()
	defer node.Close()
	st := &step{hold: (&memory{most: 8 << 20}).holding(), ready: make(chan struct{}), nodes: []*wire.Writer{wire.NewWriter(agent)}}
	close(st.ready)
	said := wire.Meeting{Direct: true, Nodes: []int{0}, Data: make([]byte, maxDirect+1)}
	if err := st.meet(0, said); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Error("too large:", err)
	}
	said.Data = said.Data[:1<<20]
	for i := range 3 {
		if err := st.meet(0, said); (err != nil) != (i == 2) || err != nil && !errors.Is(err, errMemory) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
