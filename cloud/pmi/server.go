package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Step describes a step to the tasks of one node.
type Step struct {
	ID      string // "JOB.STEP": the name of the job and of its key-value space
	Size    int    // tasks of the step
	Local   int    // tasks on this node
	Node    int    // which of the step's nodes this is: the first is 0
	Mapping string // how ranks are spread over nodes: see [Mapping]
}

// Up is how a Server reaches what is beyond its node. Its methods do not wait for an answer; Fence
// and Send wait for nothing.
type Up interface {
	// Fence reports that all tasks of this node wait, with the data that they have put since the
	// last fence. Once all nodes of the step have done so, the data of all of them, one after the
	// other, is given to [Server.Fenced].
	Fence(data []byte)
	// Send brings a message to another node of the step: to its [Server.Receive].
	Send(node int, data []byte)
	// Abort asks for the end of the step.
	Abort()
	// Complain says a line to the step's stderr.
	Complain(text string)
}

// What a client may use, as mpi/pmi2 has it.
const (
	maxName  = 256
	maxKey   = 64
	maxValue = 1024
)

// maxLine bounds a message of either protocol. The largest known are of some kilobytes.
const maxLine = 1 << 20

// Server answers the tasks of one node. It is made by [New].
type Server struct {
	step Step
	up   Up

	mu     sync.Mutex
	all    map[string]string // what every task may get: put before the last fence
	mine   []byte            // put on this node since
	inside int               // tasks that wait at the fence
	open   chan struct{}     // closed, and replaced, when the fence is over
	node   map[string]string // of this node alone
	news   chan struct{}     // closed, and replaced, when node has more
	closed chan struct{}
	once   sync.Once

	ports     map[string]string // by name, on the first node
	question  uint64            // the last one to the first node
	questions map[uint64]chan named
}

// New returns a Server without any connection.
func New(s Step, up Up) *Server {
	return &Server{step: s, up: up, all: map[string]string{"PMI_process_mapping": s.Mapping}, node: map[string]string{},
		ports: map[string]string{}, questions: map[uint64]chan named{}, open: make(chan struct{}), news: make(chan struct{}), closed: make(chan struct{})}
}

// Env is what the task of a rank has in its environment; fd is the number of its socket there.
func (s *Server) Env(rank, fd int) []string {
	return []string{"PMI_FD=" + strconv.Itoa(fd), "PMI_JOBID=" + s.step.ID, "PMI_RANK=" + strconv.Itoa(rank), "PMI_SIZE=" + strconv.Itoa(s.step.Size)}
}

// Close ends what waits. Those who serve tasks close their connections.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// Serve answers one task until that closes its socket or says something that cannot be understood.
// The caller closes c then, so that the task hears of it.
func (s *Server) Serve(rank int, c io.ReadWriter) {
	k := &client{s: s, rank: rank, in: bufio.NewReader(c), out: c}
	if err := k.run(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errClosed) {
		s.up.Complain("mpi/pmi2: " + err.Error())
	}
}

// client is a task's connection.
type client struct {
	s    *Server
	rank int
	in   *bufio.Reader
	out  io.Writer
}

// errClosed: the step ends while a task waits.
var errClosed = errors.New("the step ends")

// run reads the first line, which says the protocol.
func (k *client) run() error {
	line, err := k.line()
	if err != nil {
		return err
	}
	m := parseLine(line)
	version, sub := m.get("pmi_version"), m.get("pmi_subversion")
	known := version == "1" || version == "2"
	if m.name != "init" {
		return fmt.Errorf("invalid first command received: '%s'", m.name)
	}
	rc := "0"
	if !known {
		rc = "-1"
	}
	if err := k.sayLine("response_to_init", "rc", rc, "pmi_version", version, "pmi_subversion", sub); err != nil {
		return err
	}
	switch version {
	case "1":
		return k.run1()
	case "2":
		return k.run2()
	}
	return fmt.Errorf("unsupported PMI version: %s.%s", version, sub)
}

// put keeps a value until the next fence.
func (s *Server) put(key, value string) bool {
	if key == "" || len(key) > maxKey || len(value) > maxValue {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mine = appendPair(s.mine, key, value)
	return true
}

func (s *Server) get(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.all[key]
	return v, ok
}

// fence waits for all tasks of the step. A task that ends without it blocks the others, as with
// Slurm: srun -K or --wait ends such a step.
func (k *client) fence() error {
	s := k.s
	s.mu.Lock()
	over := s.open
	s.inside++
	if s.inside == s.step.Local {
		s.inside = 0
		data := s.mine
		s.mine = nil
		s.up.Fence(data)
	}
	s.mu.Unlock()
	return k.wait(over)
}

func (k *client) wait(c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-k.s.closed:
		return errClosed
	}
}

// Fenced ends a fence: data is what all nodes of the step gave to Up.Fence, one after the other.
func (s *Server) Fenced(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := eachPair(data, func(key, value string) { s.all[key] = value })
	close(s.open)
	s.open = make(chan struct{})
	return err
}

// putNode keeps a value for the tasks of this node, which may wait for it.
func (s *Server) putNode(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node[key] = value
	close(s.news)
	s.news = make(chan struct{})
}

// getNode is a value that a task of this node has put; if patient, it waits until one does.
func (k *client) getNode(key string, patient bool) (string, bool, error) {
	for {
		k.s.mu.Lock()
		v, ok := k.s.node[key]
		news := k.s.news
		k.s.mu.Unlock()
		if ok || !patient {
			return v, ok, nil
		}
		if err := k.wait(news); err != nil {
			return "", false, err
		}
	}
}

// Mapping is the value of PMI_process_mapping: blocks (first node, nodes, ranks on each), in the
// order of ranks. Nodes are the ranks of each.
func Mapping(nodes [][]int) string {
	size := 0
	for _, ranks := range nodes {
		size += len(ranks)
	}
	where := make([]int, size)
	for node, ranks := range nodes {
		for _, r := range ranks {
			if r >= 0 && r < size {
				where[r] = node
			}
		}
	}
	type block struct{ node, nodes, each int }
	var blocks []block
	for r := 0; r < size; {
		n := 1
		for r+n < size && where[r+n] == where[r] {
			n++
		}
		if last := len(blocks) - 1; last >= 0 && blocks[last].each == n && blocks[last].node+blocks[last].nodes == where[r] {
			blocks[last].nodes++
		} else {
			blocks = append(blocks, block{where[r], 1, n})
		}
		r += n
	}
	var b strings.Builder
	b.WriteString("(vector")
	for _, k := range blocks {
		fmt.Fprintf(&b, ",(%d,%d,%d)", k.node, k.nodes, k.each)
	}
	return b.String() + ")"
}
