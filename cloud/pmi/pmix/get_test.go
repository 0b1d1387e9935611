package pmix

import (
	"encoding/binary"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnDemand: what a rank of another node has put is there without a fence, once it has; what it has not put by then is not waited for.
func TestOnDemand(t *testing.T) {
	n := newNodes([]int{0}, []int{1})
	a, b := n.connect(t, 0, 0), n.connect(t, 1, 1)
	a.send(getData, getting(space, 1, "key")) // before it is there
	b.put("key", "here", "there")
	a.wantAnswer(1, "key", "there")
	if st := a.ask(getData, getting(space, 1, "none")); st != notFound {
		t.Errorf("what was not put: %d", st)
	}
	b.put("more", "here", "there")
	a.send(getData, getting(space, 1, "more"))
	a.wantAnswer(1, "key", "there", "more", "there")
	if st := a.ask(getData, getting(space, 1, "none", immediate)); st != notFound {
		t.Errorf("at once: %d", st)
	}
}

// TestPatience: how long requests wait, by a clock: as PMIx 5.0 and Slurm's mpi/pmix of 24.11 have it.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name string
		rank rank // which is asked for; 0 has put something, 1 of the same node and 2 of another one nothing
		how  []info
		want time.Duration
	}{
		{"of itself", 0, nil, waitHere},
		{"of a rank that has put nothing", 1, nil, waitThere},
		{"of another node", 2, nil, waitThere},
		{"of another node, for a time", 2, []info{{"pmix.timeout", 7}}, 7 * time.Second},
		{"of this node, for a time", 1, []info{{"pmix.timeout", 3}}, 3 * time.Second},
		{"of this node, without end", 1, []info{{"pmix.timeout", 0}}, waitThere},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNodes([]int{0, 1}, []int{2})
				k := n.connect(t, 0, 0)
				k.put("other", "x", "x")
				begin := time.Now()
				st := k.ask(getData, getting(space, c.rank, "key", c.how...))
				if took := time.Since(begin); st != timedOut || took != c.want {
					t.Errorf("%d after %v, want %d after %v", st, took, timedOut, c.want)
				}
				k.c.Close()
			})
		})
	}
}

// TestLateAnswer: an answer that comes when nobody waits any more is kept for who asks next.
func TestLateAnswer(t *testing.T) {
	n := newNodes([]int{0}, []int{1})
	a := n.connect(t, 0, 0)
	s := n.servers[0]
	if err := s.Receive(1, append(aboutRank(tells, 1, 5), appendPair(nil, "key", "value")...)); err != nil {
		t.Fatal(err)
	}
	a.want(1, "key", "value")
}

// TestFenceTimeout: a client's time is for those of its own node to come; the next fence is another one.
func TestFenceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodes([]int{0, 1})
		a, b := n.connect(t, 0, 0), n.connect(t, 0, 1)
		begin := time.Now()
		timed := appendInfos(fencing(space, everybody)[:len(fencing(space, everybody))-len(size(nil, 0))], info{"pmix.timeout", 2})
		if st := a.ask(fenceAll, timed); st != timedOut || time.Since(begin) != 2*time.Second {
			t.Errorf("%d after %v", st, time.Since(begin))
		}
		a.send(fenceAll, timed)
		if st := b.ask(fenceAll, timed); st != success {
			t.Errorf("the second: %d", st)
		}
		if _, st := a.receive(); st != success {
			t.Errorf("the second: %d", st)
		}
		time.Sleep(time.Minute)
		n.servers[0].End()
		a.c.Close()
		b.c.Close()
	})
}

// TestGone: nobody waits for a node that has ended.
func TestGone(t *testing.T) {
	n := newNodes([]int{0}, []int{1, 2})
	a := n.connect(t, 0, 0)
	a.send(getData, getting(space, 2, "key"))
	for n.servers[0].waiting() == 0 { // it asks on its own
		runtime.Gosched()
	}
	if err := n.servers[0].Receive(1, nil); err != nil {
		t.Fatal(err)
	}
	if _, st := a.receive(); st != notFound {
		t.Errorf("%d, want %d", st, notFound)
	}
}

func (s *Server) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.gets)
}

// TestReceiveNonsense: what another node says is a step daemon's, which its user may have changed.
func TestReceiveNonsense(t *testing.T) {
	s := newNodes([]int{0}, []int{1}).servers[0]
	for _, b := range [][]byte{{asks}, {tells, 1}, aboutRank('x', 0, 1), aboutRank(asks, 1, 1), aboutRank(tells, 0, 1), aboutRank(asks, 9, 1), binary.AppendUvarint(binary.AppendUvarint([]byte{asks}, 1<<40), 1)} {
		if err := s.Receive(1, b); err == nil {
			t.Errorf("%q is taken", b)
		}
	}
}

// FuzzReceive: whatever it is, nothing breaks.
func FuzzReceive(f *testing.F) {
	f.Add(append(aboutRank(tells, 1, 5), "abc"...))
	f.Add(aboutRank(asks, 0, 1))
	f.Fuzz(func(t *testing.T, b []byte) { newNodes([]int{0}, []int{1}).servers[0].Receive(1, b) })
}
