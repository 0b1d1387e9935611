package pmi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// nodes are the Servers of a step whose nodes are all in this process.
type nodes struct {
	servers []*Server

	mu     sync.Mutex
	said   map[int][]byte
	aborts int
	lines  []string
}

type nodeUp struct {
	all  *nodes
	node int
}

func (u nodeUp) Fence(data []byte) {
	n := u.all
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said[u.node] = data
	if len(n.said) < len(n.servers) {
		return
	}
	var all []byte
	for i := range n.servers {
		all = append(all, n.said[i]...)
	}
	clear(n.said)
	for _, s := range n.servers {
		go s.Fenced(all)
	}
}

func (u nodeUp) Send(node int, data []byte) { go u.all.servers[node].Receive(u.node, data) }

func (u nodeUp) Abort() {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.all.aborts++
}

func (u nodeUp) Complain(text string) {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.all.lines = append(u.all.lines, text)
}

// newNodes makes a step whose nodes have these ranks.
func newNodes(t testing.TB, ranks ...[]int) *nodes {
	n := &nodes{said: map[int][]byte{}}
	size := len(slices.Concat(ranks...))
	for i, own := range ranks {
		n.servers = append(n.servers, New(Step{ID: "7.0", Size: size, Local: len(own), Node: i, Mapping: Mapping(ranks)}, nodeUp{n, i}))
	}
	t.Cleanup(func() {
		for _, s := range n.servers {
			s.Close()
		}
	})
	return n
}

// connect is a task's end of its connection.
func (n *nodes) connect(t testing.TB, node, rank int) *task {
	ours, theirs := net.Pipe()
	go func() {
		n.servers[node].Serve(rank, theirs)
		theirs.Close()
	}()
	t.Cleanup(func() { ours.Close() })
	return &task{ours, bufio.NewReader(ours)}
}

// task is a client.
type task struct {
	c  net.Conn
	in *bufio.Reader
}

// line asks in the words of PMI-1.
func (k *task) line(text string) string {
	if _, err := io.WriteString(k.c, text+"\n"); err != nil {
		return err.Error()
	}
	a, err := k.in.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(a, "\n")
}

// packet asks in the words of PMI-2.
func (k *task) packet(text string) string {
	if _, err := fmt.Fprintf(k.c, "%6d%s", len(text), text); err != nil {
		return err.Error()
	}
	head := make([]byte, 6)
	if _, err := io.ReadFull(k.in, head); err != nil {
		return err.Error()
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(head)))
	if err != nil {
		return err.Error()
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(k.in, answer); err != nil {
		return err.Error()
	}
	return string(answer)
}

const (
	init1 = "cmd=init pmi_version=1 pmi_subversion=1"
	init2 = "cmd=init pmi_version=2 pmi_subversion=0"
)

// TestWords: what mpi/pmi2 of Slurm 24.11 answered to the same requests, except where it says nothing forever or cuts a value short.
func TestWords(t *testing.T) {
	one := newNodes(t, []int{0}).connect(t, 0, 0)
	two := newNodes(t, []int{0}).connect(t, 0, 0)
	for _, c := range []struct {
		ask     func(string) string
		q, want string
	}{
		{one.line, init1, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"},
		{one.line, "cmd=get_maxes", "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024"},
		{one.line, "cmd=get_appnum", "cmd=appnum rc=0 appnum=-1"},
		{one.line, "cmd=get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=7.0"},
		{one.line, "cmd=get_universe_size", "cmd=universe_size rc=0 size=1"},
		{one.line, "cmd=put kvsname=x key=k0 value=v=0", "cmd=put_result rc=0"},
		{one.line, "cmd=get kvsname=x key=k0", "cmd=get_result rc=1"},
		{one.line, "cmd=barrier_in", "cmd=barrier_out rc=0"},
		{one.line, "cmd=get kvsname=x key=k0", "cmd=get_result rc=0 value=v=0"},
		{one.line, "cmd=get kvsname=x key=none", "cmd=get_result rc=1"},
		{one.line, "cmd=get kvsname=x key=PMI_process_mapping", "cmd=get_result rc=0 value=(vector,(0,1,1))"},
		{one.line, "cmd=put kvsname=x key=" + strings.Repeat("k", 65) + " value=v", "cmd=put_result rc=1"},
		{one.line, "cmd=put kvsname=x key=k value=" + strings.Repeat("v", 1025), "cmd=put_result rc=1"},
		{one.line, "cmd=lookup_name service=s", "cmd=lookup_result info=fail rc=1"},
		{one.line, "mcmd=spawn\nnprocs=1\nexecname=x\nendcmd", "cmd=spawn_result rc=1"},
		{one.line, "cmd=finalize", "cmd=finalize_ack rc=0"},
		{one.line, "cmd=get_maxes", "io: read/write on closed pipe"},
		{two.line, init2, "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0"},
		{two.packet, "cmd=fullinit;pmijobid=x;pmirank=0;threaded=FALSE;",
			"cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=1;appnum=-1;debugged=FALSE;pmiverbose=FALSE;"},
		{two.packet, "cmd=job-getid;", "cmd=job-getid-response;rc=0;jobid=7.0;"},
		{two.packet, "cmd=info-getjobattr;key=PMI_process_mapping;", "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,1,1));"},
		{two.packet, "cmd=info-getjobattr;key=universeSize;", "cmd=info-getjobattr-response;rc=0;found=TRUE;value=1;"},
		{two.packet, "cmd=info-getjobattr;key=none;", "cmd=info-getjobattr-response;rc=0;found=FALSE;"},
		{two.packet, "cmd=kvs-put;key=k;value=v;;0 a=b;", "cmd=kvs-put-response;rc=0;"},
		{two.packet, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;"},
		{two.packet, "cmd=kvs-get;jobid=x;srcid=-1;key=k;", "cmd=kvs-get-response;rc=0;found=TRUE;value=v;;0 a=b;"},
		{two.packet, "cmd=kvs-get;jobid=x;srcid=-1;key=none;", "cmd=kvs-get-response;rc=0;found=FALSE;"},
		{two.packet, "cmd=info-putnodeattr;key=n;value=w;", "cmd=info-putnodeattr-response;rc=0;"},
		{two.packet, "cmd=info-getnodeattr;key=n;wait=TRUE;", "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=w;"},
		{two.packet, "cmd=info-getnodeattr;key=z;wait=FALSE;", "cmd=info-getnodeattr-response;rc=0;found=FALSE;"},
		{two.packet, "cmd=kvs-fence;thrid=7;", "cmd=kvs-fence-response;thrid=7;rc=0;"},
		{two.packet, "cmd=spawn;ncmds=1;", "cmd=spawn-response;rc=1;errmsg=MPI_Comm_spawn is not possible in a step on rented nodes;; start such a program with mpirun;"},
		{two.packet, "cmd=finalize;", "cmd=finalize-response;rc=0;"},
	} {
		if a := c.ask(c.q); a != c.want {
			t.Errorf("%q: %q, want %q", c.q, a, c.want)
		}
	}
}

// TestUnknown: what cannot be understood is said, and its task hears of it: it is not left to wait.
func TestUnknown(t *testing.T) {
	for _, c := range []struct{ first, next, want string }{
		{init1, "cmd=nonsense", "mpi/pmi2: invalid pmi1 command received: 'nonsense'"},
		{init2, "    13cmd=nonsense;", "mpi/pmi2: invalid pmi2 command received: 'nonsense'"},
		{init2, "hello there, this is long enough", `mpi/pmi2: invalid pmi2 message of task 3: its length is "hello "`},
		{"cmd=init pmi_version=3 pmi_subversion=1", "", "mpi/pmi2: unsupported PMI version: 3.1"},
		{"cmd=barrier_in", "", "mpi/pmi2: invalid first command received: 'barrier_in'"},
	} {
		n := newNodes(t, []int{0})
		k := n.connect(t, 0, 3)
		go io.WriteString(k.c, c.first+"\n"+c.next+"\n")
		io.Copy(io.Discard, k.in)
		n.mu.Lock()
		if !slices.Equal(n.lines, []string{c.want}) {
			t.Errorf("%s, %s: %q", c.first, c.next, n.lines)
		}
		n.mu.Unlock()
	}
}

// TestAbort: the step is ended, in either protocol, and whoever waits at a fence is let go at its end.
func TestAbort(t *testing.T) {
	n := newNodes(t, []int{0, 1, 2})
	waiting, one, two := n.connect(t, 0, 0), n.connect(t, 0, 1), n.connect(t, 0, 2)
	alone := n.connect(t, 0, 2)
	alone.line(init2)
	if a := alone.packet("cmd=abort;isworld=FALSE;msg=an end;"); a != "EOF" { // it ends, and the step goes on
		t.Error(a)
	}
	waiting.line(init1)
	one.line(init1)
	two.line(init2)
	held := make(chan string)
	go func() { held <- waiting.line("cmd=barrier_in") }()
	if a := one.line("cmd=abort exitcode=3"); a != "EOF" {
		t.Error(a)
	}
	if a := two.packet("cmd=abort;isworld=TRUE;msg=an end;"); a != "EOF" {
		t.Error(a)
	}
	n.mu.Lock()
	if n.aborts != 2 || n.lines != nil {
		t.Error(n.aborts, n.lines)
	}
	n.mu.Unlock()
	n.servers[0].Close()
	if a := <-held; a != "EOF" {
		t.Error(a)
	}
}

// TestFences: 64 ranks on 8 nodes, half of each protocol, some rounds: after each fence every rank has what all have put before it, and nothing later.
func TestFences(t *testing.T) {
	const each, rounds = 8, 3
	var ranks [][]int
	for i := range 8 {
		var own []int
		for k := range each {
			own = append(own, i+8*k)
		}
		ranks = append(ranks, own)
	}
	n := newNodes(t, ranks...)
	var wg sync.WaitGroup
	for node, own := range ranks {
		for _, r := range own {
			k := n.connect(t, node, r)
			wg.Go(func() { fences(t, k, r, 64, rounds) })
		}
	}
	wg.Wait()
}

func fences(t *testing.T, k *task, rank, size, rounds int) {
	two := rank%2 == 1
	k.line([]string{init1, init2}[rank%2])
	for round := range rounds {
		put, fence := fmt.Sprintf("cmd=put kvsname=x key=r%d-%d value=%d", round, rank, rank*rank), "cmd=barrier_in"
		ask := k.line
		if two {
			put, fence, ask = fmt.Sprintf("cmd=kvs-put;key=r%d-%d;value=%d;", round, rank, rank*rank), "cmd=kvs-fence;", k.packet
		}
		if a := parsePacket(strings.ReplaceAll(ask(put), " ", ";")); a.get("rc") != "0" {
			t.Errorf("rank %d: put: %v", rank, a)
		}
		if a := parsePacket(strings.ReplaceAll(ask(fence), " ", ";")); a.get("rc") != "0" {
			t.Errorf("rank %d: fence: %v", rank, a)
		}
		for other := range size {
			get := fmt.Sprintf("cmd=get kvsname=x key=r%d-%d", round, other)
			if two {
				get = fmt.Sprintf("cmd=kvs-get;jobid=x;srcid=-1;key=r%d-%d;", round, other)
			}
			if a := parsePacket(strings.ReplaceAll(ask(get), " ", ";")); a.get("value") != strconv.Itoa(other*other) {
				t.Errorf("rank %d has of rank %d %v", rank, other, a)
				return
			}
		}
	}
}

// TestMapping: the blocks name each rank's node, however ranks are spread.
func TestMapping(t *testing.T) {
	for _, c := range []struct {
		nodes [][]int
		want  string
	}{ // of mpi/pmi2, which begins anew where the nodes do
		{[][]int{{0}}, "(vector,(0,1,1))"},
		{[][]int{{0, 1, 2}, {3}}, "(vector,(0,1,3),(1,1,1))"},
		{[][]int{{0, 2}, {1, 3}}, "(vector,(0,2,1),(0,2,1))"},
		{[][]int{{0, 1, 4, 5}, {2, 3}}, "(vector,(0,2,2),(0,1,2))"},
		{[][]int{{0, 1}, {2, 3}, {4, 5}}, "(vector,(0,3,2))"},
	} {
		if got := Mapping(c.nodes); got != c.want {
			t.Errorf("%v: %s, want %s", c.nodes, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		where := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 40).Draw(t, "where")
		nodes := make([][]int, 6)
		for r, n := range where {
			nodes[n] = append(nodes[n], r)
		}
		text := strings.TrimSuffix(strings.TrimPrefix(Mapping(nodes), "(vector,("), "))")
		var got []int
		for block := range strings.SplitSeq(text, "),(") {
			var first, count, each int
			if _, err := fmt.Sscanf(block, "%d,%d,%d", &first, &count, &each); err != nil {
				t.Fatal(block, err)
			}
			for n := range count {
				for range each {
					got = append(got, first+n)
				}
			}
		}
		if !slices.Equal(got, where) {
			t.Fatalf("%s is %v", Mapping(nodes), got)
		}
	})
}

// TestRoundTrips: what is printed is read as it was, on the way to tasks and to other nodes.
func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`([^;](.|;)*)?`)
		var fields []string
		var pairs []byte
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			k, v := rapid.StringMatching(`[a-z-]{1,5}`).Draw(t, "key"), value.Draw(t, "value")
			if k != "cmd" && k != "mcmd" {
				fields = append(fields, k, v)
				pairs = appendPair(pairs, k, v)
			}
		}
		m := parsePacket(printPacket("x", fields))
		var got, brought []string
		for _, f := range m.fields {
			got = append(got, f[0], f[1])
		}
		if m.name != "x" || !slices.Equal(got, fields) {
			t.Fatalf("%q became %q", fields, got)
		}
		if err := eachPair(pairs, func(k, v string) { brought = append(brought, k, v) }); err != nil || !slices.Equal(brought, fields) {
			t.Fatalf("%v: %q became %q", err, fields, brought)
		}
	})
}

// FuzzServe: whatever a task says, it gets whole answers, and nothing breaks.
func FuzzServe(f *testing.F) {
	f.Add([]byte(init1 + "\ncmd=put key=a value=b\ncmd=barrier_in\ncmd=get key=a\ncmd=finalize\n"))
	f.Add([]byte(init2 + "\n    12cmd=fullinit    10cmd=kvs-fence    99"))
	f.Add([]byte(init1 + "\nmcmd=spawn\nx=y\nendcmd\ncmd=abort exitcode=1\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		if bytes.Contains(said, []byte("wait=TRUE")) {
			t.Skip("there is nobody else who could put what it waits for")
		}
		n := newNodes(t, []int{0})
		n.servers[0].up = alone{n.servers[0]}
		var answers bytes.Buffer
		n.servers[0].Serve(0, struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(said), &answers})
		if line, rest, ok := bytes.Cut(answers.Bytes(), []byte("\n")); answers.Len() > 0 && (!ok || !bytes.HasPrefix(line, []byte("cmd=response_to_init rc=")) || bytes.IndexByte(rest, 0) == 0) {
			t.Errorf("%q: %q", said, answers.Bytes())
		}
	})
}

// FuzzFenced: what comes from another node is a step daemon's, which its user may have changed.
func FuzzFenced(f *testing.F) {
	f.Add(appendPair(nil, "a", "b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newNodes(t, []int{0}).servers[0]
		var again []byte
		if err := eachPair(data, func(k, v string) { again = appendPair(again, k, v) }); err == nil && len(again) > len(data) {
			t.Errorf("%q became %q", data, again)
		}
		s.Fenced(data)
	})
}

// alone is the only node of its step.
type alone struct{ s *Server }

func (a alone) Fence(data []byte) { go a.s.Fenced(data) }
func (alone) Send(int, []byte)    {}
func (alone) Abort()              {}
func (alone) Complain(string)     {}
