package pmix

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Step describes a step to the clients of one node.
type Step struct {
	Job, Step uint32
	ID        string   // "JOB.STEP"
	Secret    string   // shared by the step's servers and clients only: letters and digits
	Hosts     []string // the step's nodes
	Ranks     [][]int  // of each node
	Node      int      // which of them this is
	Dir       string   // an empty directory for files of the clients; its maker removes it
	// Shared is where clients make the memory that they share. "": where they like, which is under
	// a name of their machine's, so that nodes must have names of their own.
	Shared string
	// Cleaner removes what clients want removed after their end. nil: it is not done, and clients learn so.
	Cleaner Cleaner
}

// Up is how a Server reaches what is beyond its node. Its methods do not wait for an answer; Fence
// and Send wait for nothing, for what comes from other nodes may be answered by them.
type Up interface {
	// Fence reports that all participants of a fence on this node wait, with the data that they
	// have put. Once all nodes that take part have done so, the data of all of them, one after the
	// other, is given to [Server.Fenced] with the same id.
	Fence(id string, nodes []int, data []byte)
	// Send brings a message to another node of the step: to its [Server.Receive].
	Send(node int, data []byte)
	// Abort asks for the end of the step, and for this exit code of it; 0: whatever comes of its tasks.
	Abort(code int)
	// Complain says a line to the step's stderr.
	Complain(text string)
}

// Server answers the clients of one node. It is made by [New].
type Server struct {
	step  Step
	up    Up
	space string // the name of the step in PMIx
	size  int
	where map[rank]int // the node of each rank

	mu     sync.Mutex
	info   []byte
	own    map[rank]*puts // of this node
	others map[rank][]byte
	fences map[string]*fence
	gets   []*get                  // that cannot be answered yet
	asking uint64                  // questions to other nodes so far
	asked  map[rank]map[int]uint64 // by rank of this node that has put nothing: nodes that want to know it, and their last questions
	ending bool                    // the step is being ended: clients are lost
	warned bool                    // of a stranger

	number   int                // the last client's
	clients  map[rank][]*client // that have identified themselves
	cleanups map[int]*Cleanup   // by owner
	cleaning int                // bytes of cleanups
	cleaned  bool               // CleanUp was called
	removals sync.WaitGroup     // that are under way
}

// puts is what a rank of this node has put.
type puts struct {
	local, remote []byte // for ranks of this node, and for others
	unsent        bool   // remote has more than the others know
}

// New returns a Server without any connection.
func New(st Step, up Up) *Server {
	s := &Server{step: st, up: up, space: "slurm.pmix." + st.ID + "." + st.Secret, where: map[rank]int{}, own: map[rank]*puts{}, others: map[rank][]byte{},
		fences: map[string]*fence{}, asked: map[rank]map[int]uint64{}, clients: map[rank][]*client{}, cleanups: map[int]*Cleanup{}}
	for node, ranks := range st.Ranks {
		s.size += len(ranks)
		for _, r := range ranks {
			s.where[rank(r)] = node
		}
	}
	return s
}

// Foreign reports whether a variable of the environment belongs to another server, and must not
// reach clients of this one.
func Foreign(variable string) bool { return strings.HasPrefix(variable, "PMIX_SERVER_URI") }

// Env is what the client of a rank has in its environment, where the Server's connections come in
// at a port of the loopback address.
func (s *Server) Env(r, port int) []string {
	n := fmt.Sprintf("%08x%08x", s.step.Job, s.step.Step)
	env := []string{
		"PMIX_NAMESPACE=" + s.space, "PMIX_RANK=" + strconv.Itoa(r), "PMIX_SERVER_URI3=pmix-server.0;tcp4://127.0.0.1:" + strconv.Itoa(port),
		"PMIX_VERSION=3.2.5", "PMIX_SECURITY_MODE=native", "PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC", "PMIX_GDS_MODULE=hash",
		"PMIX_HOSTNAME=" + s.step.Hosts[s.step.Node], "PMIX_SERVER_TMPDIR=" + s.step.Dir, "PMIX_SYSTEM_TMPDIR=/tmp",
		"OMPI_MCA_orte_precondition_transports=" + n + "-" + n, // some networks want a key that all ranks have
	}
	if s.step.Shared != "" {
		env = append(env, "OMPI_MCA_btl_vader_backing_directory="+s.step.Shared, "OMPI_MCA_btl_sm_backing_directory="+s.step.Shared)
	}
	return env
}

// header is before every message: who, tag, length, and four bytes that mean nothing.
const header = 16

// maxMessage bounds what a client sends at a time, and maxHello the first that it sends.
const (
	maxMessage = 16 << 20
	maxHello   = 64 << 10
)

// helloTime is how long a client may take to say who it is: it does so at once, but the machine may be busy.
const helloTime = time.Minute

// Serve serves a client until it closes its connection or sends something invalid. The caller
// closes c then. A client that ends without having said that it will ends the step, as with Slurm's
// mpi/pmix: the others would wait for it forever.
func (s *Server) Serve(c io.ReadWriter) {
	k := &client{s: s, in: bufio.NewReader(c), out: c}
	if d, ok := c.(interface{ SetReadDeadline(time.Time) error }); ok {
		k.deadline = d.SetReadDeadline
		_ = k.deadline(time.Now().Add(helloTime)) // a connection that has none is closed already
	}
	err := k.run()
	if k.known {
		defer s.leave(k) // removing its files may take long: its loss is reported before
	}
	if errors.Is(err, io.EOF) && k.known && !k.finalized {
		err = fmt.Errorf("task %d has ended without MPI_Finalize", k.rank)
	}
	if errors.Is(err, io.EOF) || s.ended() || !k.ours && !s.warn() {
		return
	}
	s.up.Complain("mpi/pmix: " + err.Error())
	if k.known {
		s.up.Abort(0)
	}
}

// End announces that the step is being ended. The end of clients is not reported any more.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

// warn returns false after the first time: anybody on the machine can connect to the port, as often
// as they like, and must not fill the step's stderr.
func (s *Server) warn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.warned
	s.warned = true
	return first
}

// ended tells whether End was called.
func (s *Server) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending
}

// client is a connection.
type client struct {
	s                *Server
	rank             rank
	number           int  // of the client on this node
	ours             bool // it knows the step's secret
	known, finalized bool // it has identified itself; it has announced its end
	in               io.Reader
	deadline         func(time.Time) error // nil: in has none

	mu  sync.Mutex
	out io.Writer
}

var (
	errStranger = errors.New("a process that is not of this step was refused")
	errMessage  = errors.New("a message of a client cannot be read")
)

func (k *client) run() error {
	if err := k.hello(); err != nil {
		return err
	}
	for {
		head, body, err := k.read(binary.BigEndian, maxMessage)
		if err != nil {
			return err
		}
		tag := binary.BigEndian.Uint32(head[4:])
		if tag == heartbeat { // nobody listens for that
			continue
		}
		u := &unpacker{b: body}
		u.count()
		if err := k.answer(tag, command(u.byte()), u); err != nil {
			return err
		}
	}
}

// read reads a message.
func (k *client) read(order binary.ByteOrder, most uint32) (head [header]byte, body []byte, err error) {
	if _, err := io.ReadFull(k.in, head[:]); err != nil {
		return head, nil, io.EOF
	}
	n := order.Uint32(head[8:])
	if n > most {
		return head, nil, fmt.Errorf("a client sends %d bytes at a time", n)
	}
	var b bytes.Buffer // which grows with what comes, not with what is announced
	if _, err := io.CopyN(&b, k.in, int64(n)); err != nil {
		return head, nil, io.EOF
	}
	return head, b.Bytes(), nil
}

// hello is how a client begins: who it is, its version, and how it packs. The header is in the
// machine's own order.
func (k *client) hello() error {
	_, body, err := k.read(binary.NativeEndian, maxHello)
	if err != nil {
		return err
	}
	u := &unpacker{b: body}
	u.cstring()                // how it proves who it is: by nothing that this server believes; Secret does that
	u.take(uint64(u.uint32())) // and the proof
	flag := u.byte()
	space, r := u.cstring(), rank(u.uint32())
	version, packing, described, store := u.cstring(), u.cstring(), u.byte(), u.cstring()
	node, mine := k.s.where[r]
	k.ours = !u.bad && space == k.s.space
	switch {
	case flag != simpleClient || !k.ours || !mine || node != k.s.step.Node:
		return errStranger
	case packing != "v3" || described != nonDescribed || store != "hash":
		return fmt.Errorf("PMIx %s of a client is not known here (it packs as %q and keeps data as %q): use a program that is built with PMIx 3 to 5, or mpirun", version, packing, store)
	}
	k.rank, k.known = r, true
	k.s.enter(k)
	if k.deadline != nil {
		_ = k.deadline(time.Time{})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err = k.out.Write(make([]byte, 8)) // a status: success, and the number of this client here, which nothing depends on
	if err != nil {
		return io.EOF
	}
	return nil
}

const (
	simpleClient = 0
	nonDescribed = 1 // values that are not in pairs do not say their type
)

// heartbeat is the tag of messages without any content, which say that a client is alive.
const heartbeat = 1

// command is what a client asks for.
type command uint8

const (
	reqJobInfo command = iota
	abort
	commit
	fenceAll
	getData
	finalize
	publish
	lookup
	unpublish
	spawn
	connect
	disconnect
	notify
	register
	deregister
	query
	logText
	allocate
	jobControl
)

// answer answers one request.
func (k *client) answer(tag uint32, c command, u *unpacker) error {
	s := k.s
	switch c {
	case reqJobInfo:
		s.mu.Lock()
		if s.info == nil {
			s.info = s.jobInfo()
		}
		info := s.info
		s.mu.Unlock()
		k.send(tag, info)
	case abort:
		u.count()
		code := u.uint32()
		s.End()
		s.up.Abort(int(code & 0xff))
		k.say(tag, success)
	case commit:
		k.say(tag, s.commit(k.rank, u))
	case fenceAll:
		if st := s.fence(k, tag, u); st != success {
			k.say(tag, st)
		}
	case getData:
		s.get(k, tag, u)
	case finalize:
		k.finalized = true
		s.cleanUp(k.number)
		k.say(tag, success)
	case register, notify: // of events there are none
		k.say(tag, success)
	case deregister:
	case jobControl:
		k.say(tag, s.control(u))
		u.bad = false // of all types that values may have not every one is known here
	case spawn:
		s.up.Complain("mpi/pmix: MPI_Comm_spawn is not possible in a step on rented nodes; start such a program with mpirun")
		k.say(tag, notSupported)
	default:
		k.say(tag, notSupported)
	}
	if u.bad {
		return errMessage
	}
	return nil
}

func (k *client) say(tag uint32, s status) { k.send(tag, appendStatus(nil, s)) }

// send answers a request. A client that does not take it has ended, and is found out by reading.
func (k *client) send(tag uint32, body []byte) {
	b := make([]byte, header, header+len(body))
	binary.BigEndian.PutUint32(b[4:], tag)
	binary.BigEndian.PutUint32(b[8:], uint32(len(body)))
	k.mu.Lock()
	defer k.mu.Unlock()
	_, _ = k.out.Write(append(b, body...))
}
