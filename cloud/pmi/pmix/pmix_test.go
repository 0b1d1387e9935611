package pmix

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// nodes are the Servers of a step whose nodes are all in this process.
type nodes struct {
	servers []*Server

	mu     sync.Mutex
	open   map[string]map[int][]byte
	aborts []int
	lines  []string
}

type nodeUp struct {
	all  *nodes
	node int
}

func (u nodeUp) Fence(id string, who []int, data []byte) {
	n := u.all
	n.mu.Lock()
	defer n.mu.Unlock()
	if who == nil {
		for i := range n.servers {
			who = append(who, i)
		}
	}
	if n.open[id] == nil {
		n.open[id] = map[int][]byte{}
	}
	n.open[id][u.node] = data
	if len(n.open[id]) < len(who) {
		return
	}
	var all []byte
	for _, i := range who {
		all = append(all, n.open[id][i]...)
	}
	delete(n.open, id)
	for _, i := range who {
		go n.servers[i].Fenced(id, all)
	}
}

func (u nodeUp) Send(node int, data []byte) {
	data = slices.Clone(data)
	go u.all.servers[node].Receive(u.node, data)
}

func (u nodeUp) Abort(code int) {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.all.aborts = append(u.all.aborts, code)
}

func (u nodeUp) Complain(text string) {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.all.lines = append(u.all.lines, text)
}

func newNodes(ranks ...[]int) *nodes {
	n := &nodes{open: map[string]map[int][]byte{}}
	var hosts []string
	for i := range ranks {
		hosts = append(hosts, fmt.Sprint("n", i+1))
	}
	for i := range ranks {
		n.servers = append(n.servers, New(Step{Job: 7, ID: "7.0", Secret: "S", Hosts: hosts, Ranks: ranks, Node: i, Dir: "/tmp/x"}, nodeUp{n, i}))
	}
	return n
}

// task is a client.
type task struct {
	t    testing.TB
	c    io.ReadWriteCloser
	rank rank
	tag  uint32
}

// hello is what a client of PMIx 4.2 says first.
func hello(space string, r rank, packing string) []byte {
	b := []byte("native\x00")
	b = append(binary.BigEndian.AppendUint32(b, 8), "\x00\x00\x00\x00\x00\x00\x00\x00"...)
	b = append(append(b, simpleClient), space+"\x00"...)
	b = binary.BigEndian.AppendUint32(b, uint32(r))
	b = append(append(b, "4.2.2\x00"+packing+"\x00"...), nonDescribed)
	b = append(b, "hash\x00"...)
	head := make([]byte, header)
	binary.NativeEndian.PutUint32(head, 1<<32-1)
	binary.NativeEndian.PutUint32(head[8:], uint32(len(b)))
	return append(head, b...)
}

// connect is a client that has been let in.
func (n *nodes) connect(t testing.TB, node int, r rank) *task {
	k := n.dial(t, node, r)
	k.c.Write(hello("slurm.pmix.7.0.S", r, "v3"))
	var answer [8]byte
	if _, err := io.ReadFull(k.c, answer[:]); err != nil || answer != [8]byte{} {
		t.Errorf("rank %d is answered %v, %v", r, answer, err)
	}
	return k
}

func (n *nodes) dial(t testing.TB, node int, r rank) *task {
	ours, theirs := net.Pipe()
	go func() {
		n.servers[node].Serve(theirs)
		theirs.Close()
	}()
	t.Cleanup(func() { ours.Close() })
	return &task{t: t, c: ours, rank: r, tag: 100}
}

// send sends a request, without waiting for its answer.
func (k *task) send(c command, body []byte) {
	k.tag++
	body = append(append(one(nil), byte(c)), body...)
	head := make([]byte, header)
	binary.BigEndian.PutUint32(head[4:], k.tag)
	binary.BigEndian.PutUint32(head[8:], uint32(len(body)))
	k.c.Write(append(head, body...))
}

// receive reads an answer, and its status.
func (k *task) receive() (*unpacker, status) {
	var head [header]byte
	if _, err := io.ReadFull(k.c, head[:]); err != nil {
		k.t.Errorf("rank %d: %v", k.rank, err)
		return &unpacker{}, badParam
	}
	body := make([]byte, binary.BigEndian.Uint32(head[8:]))
	io.ReadFull(k.c, body)
	u := &unpacker{b: body}
	u.count()
	return u, status(u.uint32())
}

func (k *task) ask(c command, body []byte) status {
	k.send(c, body)
	_, st := k.receive()
	return st
}

// put commits a pair, for ranks of this node and for others.
func (k *task) put(key, local, remote string) status {
	var b []byte
	for scope, v := range map[byte]string{forLocal: local, forRemote: remote} {
		b = append(append(one(b), scope), 0, 0, 0, 1, nonDescribed)
		b = appendBytes(b, appendPair(nil, key, v))
	}
	return k.ask(commit, b)
}

func size(b []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(one(b), typeUint64), n)
}

// fencing is a request to wait for these ranks.
func fencing(space string, ranks ...rank) []byte {
	b := binary.BigEndian.AppendUint32(size(nil, uint64(len(ranks))), uint32(len(ranks)))
	for _, r := range ranks {
		b = binary.BigEndian.AppendUint32(appendString(b, space), uint32(r))
	}
	return size(b, 0)
}

// getting is a request for what a rank has put under a key, with these directives.
func getting(space string, r rank, key string, how ...info) []byte {
	b := binary.BigEndian.AppendUint32(one(appendString(one(nil), space)), uint32(r))
	return appendString(one(appendInfos(b, how...)), key)
}

// immediate wants an answer at once.
var immediate = info{"pmix.immediate", true}

// appendInfos packs directives.
func appendInfos(b []byte, list ...info) []byte {
	b = size(b, uint64(len(list)))
	if len(list) == 0 {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(list)))
	for _, i := range list {
		b = append(appendString(b, i.key), 0, 0, 0, 0)
		switch v := i.value.(type) {
		case bool:
			b = append(binary.BigEndian.AppendUint16(b, typeBool), 0)
			if v {
				b[len(b)-1] = 1
			}
		case string:
			b = appendString(binary.BigEndian.AppendUint16(b, typeString), v)
		case int:
			b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, typeInt), 9)
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		default:
			b = binary.BigEndian.AppendUint16(b, typeUndefined)
		}
	}
	return b
}

const space = "slurm.pmix.7.0.S"

// want asks for what a rank has put, and holds it to be these pairs.
func (k *task) want(r rank, pairs ...string) {
	k.t.Helper()
	key := ""
	if len(pairs) > 0 {
		key = pairs[0]
	}
	k.send(getData, getting(space, r, key))
	k.wantAnswer(r, pairs...)
}

func (k *task) wantAnswer(r rank, pairs ...string) {
	k.t.Helper()
	u, st := k.receive()
	u.count()
	in := &unpacker{b: u.take(u.size())}
	in.count()
	whose, of := in.string(), rank(in.uint32())
	var got []string
	for len(in.b) > 0 && !in.bad {
		in.count()
		key := in.string()
		in.uint16()
		got = append(got, key, in.string())
	}
	if st != success || whose != space || of != r || in.bad || !slices.Equal(got, pairs) {
		k.t.Errorf("rank %d asked for %d: %d, %s %d, %q, want %q", k.rank, r, st, whose, of, got, pairs)
	}
}

// TestHello: who is not of the step, or packs otherwise, is refused with a sentence, and the step goes on.
func TestHello(t *testing.T) {
	for _, c := range []struct {
		hello []byte
		want  string
	}{
		{hello(space, 2, "v3"), "mpi/pmix: a process that is not of this step was refused"},
		{hello(space, everybody, "v3"), "mpi/pmix: a process that is not of this step was refused"},
		{hello("slurm.pmix.7.0.T", 0, "v3"), "mpi/pmix: a process that is not of this step was refused"},
		{hello(space, 0, "v21"), `mpi/pmix: PMIx 4.2.2 of a client is not known here (it packs as "v21" and keeps data as "hash"): use a program that is built with PMIx 3 to 5, or mpirun`},
		{append(make([]byte, 8), "\xff\xff\xff\xff\x00\x00\x00\x00"...), "mpi/pmix: a client sends 4294967295 bytes at a time"},
	} {
		n := newNodes([]int{0, 1}, []int{2})
		n.refused(t, c.hello)
		if !slices.Equal(n.lines, []string{c.want}) {
			t.Errorf("%q, want %q", n.lines, c.want)
		}
		if n.aborts != nil {
			t.Error("a stranger has ended the step")
		}
	}
}

// refused says hello as somebody who gets no answer.
func (n *nodes) refused(t testing.TB, hello []byte) {
	k := n.dial(t, 0, 0)
	k.c.Write(hello)
	if b, err := io.ReadAll(k.c); err != nil || len(b) > 0 {
		t.Errorf("it is answered %q, %v", b, err)
	}
}

// TestStrangers: whoever comes again and again does not fill the step's stderr, nor keep its own tasks' words from it.
func TestStrangers(t *testing.T) {
	n := newNodes([]int{0, 1}, []int{2})
	for range 3 {
		n.refused(t, hello("slurm.pmix.7.0.T", 0, "v3"))
	}
	n.refused(t, append(make([]byte, 8), "\xff\xff\xff\xff\x00\x00\x00\x00"...))
	n.refused(t, hello(space, 0, "v21"))
	if len(n.lines) != 2 || n.lines[0] != "mpi/pmix: a process that is not of this step was refused" || !strings.Contains(n.lines[1], "is not known here") {
		t.Errorf("%q", n.lines)
	}
}

// TestJobInfo: what clients are told of their step.
func TestJobInfo(t *testing.T) {
	s := newNodes([]int{0, 2}, []int{1}).servers[0]
	u := &unpacker{b: s.jobInfo()}
	u.count()
	if got := u.string(); got != space {
		t.Error(got)
	}
	got, of := pairs(t, u), map[rank]map[string]any{}
	for _, b := range got["pmix.pblob"].([][]byte) {
		in := &unpacker{b: b}
		in.count()
		r := rank(in.uint32())
		of[r] = pairs(t, in)
	}
	for key, want := range map[string]any{"pmix.job.size": uint32(3), "pmix.local.size": uint32(2), "pmix.lpeers": "0,2", "pmix.num.nodes": uint32(2), "pmix.nlist": "n1,n2", "pmix.lldr": rank(0)} {
		if !reflect.DeepEqual(got[key], want) {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	for r, want := range map[rank][3]any{0: {"n1", uint16(0), uint32(0)}, 1: {"n2", uint16(0), uint32(1)}, 2: {"n1", uint16(1), uint32(0)}} {
		if got := [3]any{of[r]["pmix.hname"], of[r]["pmix.lrank"], of[r]["pmix.nodeid"]}; got != want {
			t.Errorf("rank %d: %v", r, got)
		}
	}
}

// pairs reads what appendPair has packed; byte objects of one key are gathered.
func pairs(t *testing.T, u *unpacker) map[string]any {
	t.Helper()
	all := map[string]any{}
	for len(u.b) > 0 && !u.bad {
		u.count()
		key := u.string()
		switch typ := u.uint16(); typ {
		case typeBool:
			all[key] = u.byte() == 1
		case typeString:
			all[key] = u.string()
		case typeUint16:
			all[key] = u.uint16()
		case typeUint32:
			all[key] = u.uint32()
		case typeRank:
			all[key] = rank(u.uint32())
		case typeByteObject:
			before, _ := all[key].([][]byte)
			all[key] = append(before, u.take(u.size()))
		default:
			t.Fatalf("%s is of type %d", key, typ)
		}
	}
	if u.bad {
		t.Error("it is cut short")
	}
	return all
}

// TestExchange: what is put is with the others after the fence of all: of this node what is meant for it, of other nodes what is meant for them. Who asks before
// waits, unless it wants an answer at once.
func TestExchange(t *testing.T) {
	n := newNodes([]int{0, 1}, []int{2})
	a, b, c := n.connect(t, 0, 0), n.connect(t, 0, 1), n.connect(t, 1, 2)
	if st := b.ask(getData, getting(space, 0, "key", immediate)); st != notFound {
		t.Errorf("at once: %d", st)
	}
	if st := b.ask(getData, getting(space, 9, "key")); st != notFound {
		t.Errorf("of no rank: %d", st)
	}
	b.send(getData, getting(space, 0, "key"))
	if st := a.put("key", "here", "there"); st != success {
		t.Error(st)
	}
	b.wantAnswer(0, "key", "here")
	c.send(getData, getting(space, 0, "key"))
	c.send(fenceAll, fencing(space, everybody))
	b.send(fenceAll, fencing(space, everybody))
	if st := a.ask(fenceAll, fencing(space, everybody)); st != success {
		t.Error(st)
	}
	b.receive()
	answers := 0
	for range 2 { // the fence and the answer come in any order
		u, st := c.receive()
		if st != success {
			t.Error(st)
		}
		if bytes.Contains(u.b, []byte("there\x00")) {
			answers++
		}
	}
	if answers != 1 {
		t.Error("a rank of another node has not what was put")
	}
	a.want(2)
}

// TestFences: many ranks on several nodes, fences of all and of some at a time.
func TestFences(t *testing.T) {
	var ranks [][]int
	for i := range 8 {
		var own []int
		for k := range 8 {
			own = append(own, i+8*k)
		}
		ranks = append(ranks, own)
	}
	n := newNodes(ranks...)
	var wg sync.WaitGroup
	for node, own := range ranks {
		for _, r := range own {
			k := n.connect(t, node, rank(r))
			wg.Go(func() { fences(k) })
		}
	}
	wg.Wait()
}

// fences: all, then those of a like parity, then all again, with values that change.
func fences(k *task) {
	var like []rank
	for r := k.rank % 2; r < 64; r += 2 {
		like = append(like, r)
	}
	for round, who := range [][]rank{{everybody}, like, {everybody}} {
		key := fmt.Sprint("key", round)
		if st := k.put(key, fmt.Sprint(k.rank), fmt.Sprint(k.rank)); st != success {
			k.t.Errorf("rank %d: put: %d", k.rank, st)
		}
		if st := k.ask(fenceAll, fencing(space, who...)); st != success {
			k.t.Errorf("rank %d: fence: %d", k.rank, st)
		}
		for _, r := range like {
			k.send(getData, getting(space, r, key))
			if u, st := k.receive(); st != success || !bytes.Contains(u.b, []byte(key+"\x00")) {
				k.t.Errorf("rank %d has not what %d has put before fence %d: %d", k.rank, r, round, st)
				return
			}
		}
	}
}

// TestRefused: what cannot be done is answered so, and waits for nothing.
func TestRefused(t *testing.T) {
	n := newNodes([]int{0, 1})
	k := n.connect(t, 0, 0)
	for _, c := range []struct {
		c    command
		body []byte
		want status
	}{
		{fenceAll, fencing("another", everybody), notSupported},
		{fenceAll, fencing(space, 1), badParam},
		{fenceAll, fencing(space, 0, 9), badParam},
		{publish, nil, notSupported}, {connect, nil, notSupported}, {query, nil, notSupported}, {command(99), nil, notSupported},
		{register, nil, success}, {spawn, nil, notSupported},
	} {
		if st := k.ask(c.c, c.body); st != c.want {
			t.Errorf("%d: %d, want %d", c.c, st, c.want)
		}
	}
	if len(n.lines) != 1 || !strings.Contains(n.lines[0], "MPI_Comm_spawn is not possible") {
		t.Errorf("%q", n.lines)
	}
}

// TestEnds: who ends without saying so ends the step, unless it is being ended; an abort says with which exit code.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(n *nodes, k *task)
		aborts []int
		lines  []string
	}{
		{"finalized", func(_ *nodes, k *task) { k.ask(finalize, nil) }, nil, nil},
		{"died", func(*nodes, *task) {}, []int{0}, []string{"mpi/pmix: task 1 has ended without MPI_Finalize"}},
		{"killed", func(n *nodes, _ *task) { n.servers[0].End() }, nil, nil},
		{"aborted", func(_ *nodes, k *task) { k.ask(abort, []byte{0, 0, 0, 1, 0, 0, 0, 3}) }, []int{3}, nil},
		{"nonsense", func(_ *nodes, k *task) { k.send(commit, []byte{0, 0, 0, 1, 2}); k.receive() }, []int{0}, []string{"mpi/pmix: a message of a client cannot be read"}},
	} {
		n := newNodes([]int{0, 1})
		ours, theirs := net.Pipe()
		done := make(chan bool)
		go func() {
			n.servers[0].Serve(theirs)
			theirs.Close()
			close(done)
		}()
		k := &task{t: t, c: ours, rank: 1, tag: 100}
		ours.Write(hello(space, 1, "v3"))
		io.ReadFull(ours, make([]byte, 8))
		c.do(n, k)
		ours.Close()
		<-done
		if !slices.Equal(n.aborts, c.aborts) || !slices.Equal(n.lines, c.lines) {
			t.Errorf("%s: %v, %q", c.name, n.aborts, n.lines)
		}
	}
}

// TestEnv: clients find this server and no other.
func TestEnv(t *testing.T) {
	env := newNodes([]int{0}, []int{1}).servers[1].Env(1, 1234)
	for _, want := range []string{"PMIX_NAMESPACE=" + space, "PMIX_RANK=1", "PMIX_SERVER_URI3=pmix-server.0;tcp4://127.0.0.1:1234", "PMIX_HOSTNAME=n2",
		"OMPI_MCA_orte_precondition_transports=0000000700000000-0000000700000000"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	if !Foreign("PMIX_SERVER_URI41=x") || Foreign("PMIX_RANK=0") {
		t.Error("another server's variables are not told from ours")
	}
}

// TestPairs: values are read as they were packed.
func TestPairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := map[string]any{}
		var b []byte
		for _, key := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z.]{1,9}`), 0, 6, rapid.ID).Draw(rt, "keys") {
			want[key] = rapid.OneOf(rapid.Bool().AsAny(), rapid.StringMatching(`[ -~]*`).AsAny(), rapid.Uint16().AsAny(), rapid.Uint32().AsAny(),
				rapid.Map(rapid.Uint32(), func(n uint32) rank { return rank(n) }).AsAny()).Draw(rt, key)
			b = appendPair(b, key, want[key])
		}
		if got := pairs(t, &unpacker{b: b}); !reflect.DeepEqual(got, want) {
			rt.Fatalf("%v became %v", want, got)
		}
	})
}

// FuzzServe: whatever comes, nothing breaks.
func FuzzServe(f *testing.F) {
	talk := hello(space, 0, "v3")
	k := &task{c: recorder{&talk}}
	k.send(reqJobInfo, nil)
	k.send(commit, append(append(one(nil), forRemote, 0, 0, 0, 1, nonDescribed), appendBytes(nil, []byte("x"))...))
	k.send(fenceAll, fencing(space, everybody))
	k.send(getData, getting(space, 0, "key", immediate))
	k.send(jobControl, controlling([]proc{{space, 0}}, file("/a"), dir("/b"), keep("/c")))
	k.send(finalize, nil)
	f.Add(talk)
	f.Fuzz(func(t *testing.T, said []byte) {
		n := newNodes([]int{0})
		n.servers[0].step.Cleaner = &cleaner{}
		n.servers[0].Serve(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(said), io.Discard})
	})
}

// recorder keeps what a client says.
type recorder struct{ said *[]byte }

func (r recorder) Write(b []byte) (int, error) { *r.said = append(*r.said, b...); return len(b), nil }

// FuzzFenced: what comes from another node is a step daemon's, which its user may have changed.
func FuzzFenced(f *testing.F) {
	f.Add([]byte("\x01\x03abc"))
	f.Fuzz(func(t *testing.T, data []byte) { newNodes([]int{0}, []int{1}).servers[0].Fenced("", data) })
}

func (recorder) Read([]byte) (int, error) { return 0, io.EOF }
func (recorder) Close() error             { return nil }

// TestSilence: who comes and says nothing is shown the door, and one who has said who it is may be silent as long as its program likes.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodes([]int{0})
		served := make(chan struct{}, 2)
		serve := func() net.Conn {
			here, there := net.Pipe()
			go func() {
				n.servers[0].Serve(there)
				there.Close()
				served <- struct{}{}
			}()
			return here
		}
		serve()
		<-served
		c := serve()
		c.Write(hello("slurm.pmix.7.0.S", 0, "v3"))
		if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if len(served) != 0 || len(n.aborts) != 0 {
			t.Errorf("a client that computes was given up: aborts %v, %q", n.aborts, n.lines)
		}
		c.Close()
		<-served
	})
}
