package pmi

import (
	"strings"
	"testing"
)

// TestNames: what mpi/pmi2 of Slurm 24.11 answers in either protocol (and rc= in PMI-1, which newer clients look for), from the first node and from another.
func TestNames(t *testing.T) {
	n := newNodes(t, []int{0}, []int{1})
	one, two := n.connect(t, 0, 0), n.connect(t, 1, 1)
	one.line(init1)
	two.line(init2)
	for i, c := range []struct {
		old       bool // by PMI-1, from the first node
		ask, want string
	}{
		{true, "cmd=lookup_name service=svc", "cmd=lookup_result info=fail rc=1"},
		{false, "cmd=name-lookup;name=svc;", "cmd=name-lookup-response;rc=1;"},
		{false, "cmd=name-publish;name=svc;port=tag#0$x;;y;infokeycount=0;", "cmd=name-publish-response;rc=0;"},
		{true, "cmd=lookup_name service=svc", "cmd=lookup_result info=ok rc=0 port=tag#0$x;y"},
		{true, "cmd=publish_name service=svc port=other", "cmd=publish_result info=ok rc=0"},
		{false, "cmd=name-lookup;name=svc;", "cmd=name-lookup-response;rc=0;value=other;"},
		{false, "cmd=name-unpublish;name=none;", "cmd=name-unpublish-response;rc=0;"},
		{true, "cmd=unpublish_name service=svc", "cmd=unpublish_result info=ok rc=0"},
		{false, "cmd=name-lookup;name=svc;", "cmd=name-lookup-response;rc=1;"},
		{true, "cmd=publish_name service=long port=" + strings.Repeat("x", maxValue+1), "cmd=publish_result info=fail rc=1"},
		{false, "cmd=name-publish;name=;port=x;", "cmd=name-publish-response;rc=1;"},
	} {
		ask := two.packet
		if c.old {
			ask = one.line
		}
		if got := ask(c.ask); got != c.want {
			t.Errorf("%d: %s: %q, want %q", i, c.ask, got, c.want)
		}
	}
}

// TestManyNames: the first node keeps only so many.
func TestManyNames(t *testing.T) {
	s := newNodes(t, []int{0}).servers[0]
	for i := range maxNames {
		if a := s.names(publishes, strings.Repeat("n", i/2+1)+string(rune('a'+i%2)), "p"); !a.ok {
			t.Fatalf("%d: refused", i)
		}
	}
	if s.names(publishes, "more", "p").ok || !s.names(publishes, "na", "q").ok || s.names(looksUp, "na", "").port != "q" {
		t.Error("one more is kept, or one that is there is not")
	}
}

// TestFirstGone: nobody waits for a first node that has ended, nor takes nonsense.
func TestFirstGone(t *testing.T) {
	n := newNodes(t, []int{0}, []int{1})
	s := n.servers[1]
	s.up = lost{s}
	k := n.connect(t, 1, 1)
	k.line(init2)
	if got, want := k.packet("cmd=name-lookup;name=svc;"), "cmd=name-lookup-response;rc=1;"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, b := range [][]byte{{answers}, {answers, 1}, aboutName(looksUp, 1, "a", ""), aboutName('x', 1, "a", ""), append(aboutName(answers, 1, "a", ""), 1, 'x')} {
		if err := s.Receive(0, b); err == nil {
			t.Errorf("%q is taken", b)
		}
	}
}

// lost is a node without others.
type lost struct{ s *Server }

func (l lost) Send(node int, _ []byte) { go l.s.Receive(node, nil) }
func (lost) Fence([]byte)              {}
func (lost) Abort()                    {}
func (lost) Complain(string)           {}

// FuzzReceive: what comes from another node is a step daemon's, which its user may have changed.
func FuzzReceive(f *testing.F) {
	f.Add(aboutName(publishes, 1, "name", "port"))
	f.Add(aboutName(answers, 1, "ok", "port"))
	f.Fuzz(func(t *testing.T, b []byte) { newNodes(t, []int{0}, []int{1}).servers[0].Receive(1, b) })
}
