package pmix

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// cleaner notes what a Server asks of it.
type cleaner struct {
	mu            sync.Mutex
	kept, removed []string
	removing      func() // nil: nothing
}

func (c *cleaner) Keep(owner int, more Cleanup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, fmt.Sprint(owner, more))
}

func (c *cleaner) Remove(owner int, all Cleanup) {
	if c.removing != nil {
		c.removing()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removed = append(c.removed, fmt.Sprint(owner, all))
}

// controlling is a request of job control.
func controlling(targets []proc, list ...info) []byte {
	b := size(nil, uint64(len(targets)))
	if len(targets) > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(len(targets)))
	}
	for _, p := range targets {
		b = binary.BigEndian.AppendUint32(appendString(b, p.space), uint32(p.rank))
	}
	return appendInfos(b, list...)
}

func file(path string) info { return info{"pmix.reg.cleanup", path} }
func dir(path string) info  { return info{"pmix.reg.cleanupdir", path} }
func keep(path string) info { return info{"pmix.clnup.ignore", path} }

// TestControl: what libpmix 4.2 and 5.0 answer to, with what they answer; of what is not about files nothing is done, as with mpi/pmix of Slurm.
func TestControl(t *testing.T) {
	n := newNodes([]int{0, 1})
	c := &cleaner{}
	n.servers[0].step.Cleaner = c
	a, b := n.connect(t, 0, 0), n.connect(t, 0, 1)
	me := []proc{{space, 0}}
	for _, q := range []struct {
		targets []proc
		list    []info
		want    status
	}{
		{me, []info{file("/a,/b")}, success},
		{me, []info{file("/a,/b")}, success}, // again
		{nil, []info{dir("/d"), {"pmix.clnup.recurse", true}, {"pmix.clnup.lvtop", false}}, success},
		{[]proc{{space, everybody}}, []info{dir("/d"), {"pmix.clnup.lvtop", nil}}, success},
		{[]proc{{space, 1}}, []info{file("/one")}, success},
		{[]proc{{"another", 0}, {space, 9}}, []info{file("/none")}, success},
		{me, []info{keep("/k")}, success},
		{me, []info{file("/k")}, conflicting},
		{me, []info{dir("/k")}, conflicting},
		{me, []info{file("/too"), {"pmix.jctrl.kill", true}}, notSupported}, // the file is noted
		{me, []info{{"pmix.jctrl.kill", true}}, notSupported},
		{me, nil, notSupported},
		{me, []info{{"pmix.reg.cleanup", 3}}, badParam},
		{me, []info{{"pmix.clnup.ignore", nil}}, badParam},
	} {
		if st := a.ask(jobControl, controlling(q.targets, q.list...)); st != q.want {
			t.Errorf("%v of %v: %d, want %d", q.list, q.targets, st, q.want)
		}
	}
	if st := a.ask(jobControl, []byte{1, 2}); st != badParam {
		t.Errorf("half a request: %d", st)
	}
	want := []string{"1 {[/a,/b] [] []}", "0 {[] [{/d true false}] []}", "0 {[] [{/d false true}] []}", "2 {[/one] [] []}", "1 {[] [] [/k]}", "1 {[/too] [] []}"}
	if !slices.Equal(c.kept, want) {
		t.Errorf("noted: %q, want %q", c.kept, want)
	}
	if len(c.removed) > 0 {
		t.Errorf("%q, and nobody has ended", c.removed)
	}
	a.ask(finalize, nil)
	if want := []string{"1 {[/a,/b /too] [] [/k]}"}; !slices.Equal(c.removed, want) {
		t.Errorf("at its end: %q, want %q", c.removed, want)
	}
	n.servers[0].CleanUp()
	if want := []string{"2 {[/one] [] []}", "0 {[] [{/d true true}] []}"}; !slices.Equal(c.removed[1:], want) {
		t.Errorf("at the step's end: %q, want %q", c.removed[1:], want)
	}
	if st := b.ask(jobControl, controlling(nil, file("/late"))); st != notSupported {
		t.Errorf("after the step's end: %d", st)
	}
}

// TestControlBound: clients cannot make the server hold as much as they like.
func TestControlBound(t *testing.T) {
	n := newNodes([]int{0})
	n.servers[0].step.Cleaner = &cleaner{}
	k := n.connect(t, 0, 0)
	path := func(i int) info { return file(fmt.Sprint("/", i, strings.Repeat("x", maxCleanups/4))) }
	for i := range 3 {
		if st := k.ask(jobControl, controlling(nil, path(i))); st != success {
			t.Errorf("%d: %d", i, st)
		}
	}
	if st := k.ask(jobControl, controlling(nil, path(3))); st != outOfResource {
		t.Errorf("too much: %d", st)
	}
	if st := k.ask(jobControl, controlling(nil, file("/small"))); st != success {
		t.Errorf("what there is room for: %d", st)
	}
}

// TestLost: a client that is killed is cleaned up after.
func TestLost(t *testing.T) {
	n := newNodes([]int{0})
	c := &cleaner{}
	n.servers[0].step.Cleaner = c
	k := n.connect(t, 0, 0)
	k.ask(jobControl, controlling([]proc{{space, 0}}, file("/mine")))
	again := n.connect(t, 0, 0) // a child of the task, whose end is not the task's
	again.ask(finalize, nil)
	if len(c.removed) > 0 {
		t.Errorf("%q, and its child has ended", c.removed)
	}
	n.servers[0].End()
	k.c.Close()
	n.servers[0].CleanUp()
	if want := []string{"1 {[/mine] [] []}"}; !slices.Equal(c.removed, want) {
		t.Errorf("%q, want %q", c.removed, want)
	}
}

// TestLostFirst: a client's loss ends the step before what it has left is removed, which may take long.
func TestLostFirst(t *testing.T) {
	n := newNodes([]int{0})
	told := make(chan int)
	n.servers[0].step.Cleaner = &cleaner{removing: func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		told <- len(n.aborts)
	}}
	k := n.connect(t, 0, 0)
	k.ask(jobControl, controlling([]proc{{space, 0}}, file("/mine")))
	k.c.Close()
	if aborts := <-told; aborts != 1 {
		t.Errorf("the removal begins after %d requests for the step's end", aborts)
	}
}

// TestLongCleanUp: the step's end waits for removals, but not forever.
func TestLongCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for takes, whole := range map[time.Duration]bool{cleanUpTime - 1: true, time.Hour: false} {
			n := newNodes([]int{0})
			n.servers[0].step.Cleaner = &cleaner{removing: func() { time.Sleep(takes) }}
			k := n.connect(t, 0, 0)
			k.ask(jobControl, controlling(nil, file("/step's")))
			began := time.Now()
			if got := n.servers[0].CleanUp(); got != whole || time.Since(began) != min(takes, cleanUpTime) {
				t.Errorf("removals take %v: %v after %v", takes, got, time.Since(began))
			}
			k.c.Close()
			time.Sleep(time.Hour)
		}
	})
}

// TestHeartbeat: a message that has no content is no request that cannot be read.
func TestHeartbeat(t *testing.T) {
	n := newNodes([]int{0})
	k := n.connect(t, 0, 0)
	head := make([]byte, header)
	binary.BigEndian.PutUint32(head[4:], heartbeat)
	k.c.Write(head)
	if st := k.ask(finalize, nil); st != success || len(n.lines) > 0 || len(n.aborts) > 0 {
		t.Errorf("%d, %q, %v", st, n.lines, n.aborts)
	}
}
