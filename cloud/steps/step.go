package steps

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
)

// step is a step on the gang's first machine, from srun's request to its end.
type step struct {
	launch *agentapi.Launch
	req    wire.Request
	id     uint32
	shares []share // in the order of the step's nodes
	counts []int   // how many of them belong to each part
	waited bool
	turn   chan error // what has come of a step that waits
	start  time.Time
	limit  limit // its own; the table' lock guards it

	hold   *holding
	out    *wire.Writer    // to srun
	ready  chan struct{}   // closed when all nodes have their connections
	done   <-chan struct{} // closed when nobody serves the step any more
	cancel context.CancelFunc

	mu    sync.Mutex
	nodes []*wire.Writer    // nil: not connected, or over
	conns map[int]io.Closer // by node: its connection, also when it is over
	heard map[int][]int     // by node: those whose PMI servers have sent it something
	ended bool
	said  bool  // the line of its end
	begun bool  // srun knows of it: nothing may be sent before
	stops *Stop // what ends it; nodes that are connected later hear of it then
	tally tally

	pending []syscall.Signal // that the nodes are still to get, in this order
	sending bool             // somebody waits for the nodes, or sends them those

	meetings meetings
	secret   string // of an MPI program's tasks
}

// maxName is how much of a step's name is kept: one report holds all of a job's steps.
const maxName = 256

// serveStep does what one srun asks for, until its step is over.
func (s *Service) serveStep(r *run, c net.Conn, in *wire.Reader, h *holding, first wire.Frame) {
	req, err := h.request(first)
	st := &step{launch: r.Launch, req: req, hold: h, out: wire.NewWriter(c), ready: make(chan struct{})}
	if err == nil && len(req.Parts) == 0 {
		err = errWords
	}
	if err != nil {
		st.out.Write(wire.Refused, 0, []byte(err.Error()))
		return
	}
	st.req.Name = req.Name[:min(len(req.Name), maxName)]
	st.req.MPI = cmp.Or(req.MPI, r.Launch.MPI)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	st.cancel, st.done = cancel, ctx.Done()
	created := make(chan struct{})
	s.wg.Go(func() { st.readSrun(in, created) })
	err = r.table.create(ctx, st)
	close(created)
	if err != nil {
		st.refuse(err)
		return
	}
	if st.req.TestOnly {
		close(st.ready)
		r.table.end(st)
		st.out.WriteJSON(wire.Created, 0, st.layout())
		st.out.Write(wire.End, 0, nil)
		return
	}
	s.conduct(ctx, r, st)
}

func (st *step) refuse(err error) {
	var text string
	switch refused, ok := errors.AsType[*layout.Refused](err); {
	case ok && !refused.Tried():
		text = refused.Text
	default:
		text = "Unable to create step for job " + strconv.FormatUint(uint64(st.launch.Job), 10) + ": " + err.Error()
	}
	st.out.Write(wire.Refused, 0, []byte(text))
}

// conduct runs a step that has its nodes.
func (s *Service) conduct(ctx context.Context, r *run, st *step) {
	l := st.layout()
	st.out.WriteJSON(wire.Created, 0, l)
	st.secret = rand.Text()
	st.begin(len(l.Nodes))
	defer r.table.arm(st, func() { st.timeOut(r.Launch.KillWait) })()
	var dialed, done sync.WaitGroup
	for i := range l.Nodes {
		dialed.Add(1)
		done.Go(func() { s.conductNode(ctx, r, st, &l, i, dialed.Done) })
	}
	dialed.Wait()
	close(st.ready)
	done.Wait()
	st.mu.Lock()
	st.ended, st.tally.end = true, time.Now()
	st.mu.Unlock()
	r.table.end(st)
	st.out.Write(wire.End, 0, nil)
}

// conductNode starts one node's tasks and passes on what comes of them.
func (s *Service) conductNode(ctx context.Context, r *run, st *step, l *wire.Layout, i int, dialed func()) {
	c, err := s.open(ctx, r, st, l, i)
	if err != nil {
		dialed()
		st.lose(i, err)
		return
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	st.connected(i, c, wire.NewWriter(patient{c}))
	dialed()
	defer st.gone(i)
	in := st.hold.frames(wire.NewReader(bufio.NewReaderSize(c, 16<<10)))
	for {
		f, err := in.Read()
		if err != nil {
			st.lose(i, err)
			return
		}
		if st.forTasks(i, f) {
			continue
		}
		st.note(f, l.Nodes[i].Name)
		if st.out.Write(f.Kind, f.N, f.Payload) != nil {
			st.cancel() // srun is gone: nothing of its step stays
		}
		if f.Kind == wire.NodeEnd {
			break
		}
	}
}

// patience is how long a step daemon, which reads all that comes, may leave something unread.
const patience = time.Minute

// patient gives up on a node that does not read any more: ending the step would wait behind what is
// being written to it.
type patient struct{ c net.Conn }

func (p patient) Write(b []byte) (int, error) {
	_ = p.c.SetWriteDeadline(time.Now().Add(patience)) // one that has no deadlines is closed already
	n, err := p.c.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) { // a node that has ended does not read either, and its last frames are still to be read
		p.c.Close()
	}
	return n, err
}

// open starts the step on one node: here, or through the node's own service.
func (s *Service) open(ctx context.Context, r *run, st *step, l *wire.Layout, i int) (net.Conn, error) {
	launch := st.nodeLaunch(l, i, s.port())
	sh := &st.shares[i]
	if sh.group == r.Launch.Group && sh.node == r.Launch.Node {
		return s.startDaemon(r, launch)
	}
	back, err := r.room(ctx, launch)
	if err != nil {
		return nil, err
	}
	defer back()
	c, err := s.dial(r, r.Launch.Groups[sh.group].Nodes[sh.node].Steps)
	if err != nil {
		return nil, err
	}
	if err := wire.NewWriter(c).WriteJSON(wire.Launch, 0, launch); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (s *Service) port() int {
	if a, ok := s.listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// nodeLaunch returns the launch message for the i-th node of the step.
func (st *step) nodeLaunch(l *wire.Layout, i, port int) *wire.NodeLaunch {
	sh := &st.shares[i]
	part := l.Nodes[i].Part
	n := &wire.NodeLaunch{
		Run: st.launch.Run, Job: st.launch.Job, Step: st.id, Part: st.req.Parts[part], Ranks: l.Nodes[i].Ranks,
		Host: st.launch.Groups[0].Nodes[0].Addr, Port: port, Receive: st.req.Receive, Name: st.req.Name, Node: i, Group: sh.group,
	}
	for k := range l.Nodes {
		n.Nodes = append(n.Nodes, l.Nodes[k].Name)
		n.Counts = append(n.Counts, len(l.Nodes[k].Ranks))
		n.CPUs = append(n.CPUs, l.Nodes[k].CPUs)
		if l.Nodes[k].Part < part {
			n.Rank0 += len(l.Nodes[k].Ranks)
		}
	}
	if len(st.req.Parts) > 1 {
		n.Group = -1
	}
	n.MPI = st.mpi(l)
	node := &st.launch.Groups[sh.group].Nodes[sh.node]
	for _, c := range sh.cpus {
		if node.CPUIDs != nil {
			c = node.CPUIDs[c]
		}
		n.CPUIDs = append(n.CPUIDs, c)
	}
	n.Bound = node.CPUIDs != nil
	for _, g := range sh.gpus {
		n.GPUs = append(n.GPUs, node.GPUs[g])
	}
	if d := n.Part.Distribution; d == "" || d[0] == ',' {
		tasks := 0
		for k := range l.Nodes { // of this component
			if l.Nodes[k].Part == part {
				tasks += len(l.Nodes[k].Ranks)
			}
		}
		n.Part.Distribution = layout.Default(n.Part.Ask, tasks) + d
	}
	if st.req.Pty != nil && len(n.Ranks) > 0 && n.Ranks[0] == 0 {
		n.Pty = st.req.Pty
	}
	return n
}

// readSrun does what srun says until it has gone.
func (st *step) readSrun(in *wire.Reader, created <-chan struct{}) {
	for {
		f, err := in.Read()
		if err != nil {
			st.cancel()
			return
		}
		select {
		case <-created:
		default:
			if f.Kind == wire.Signal || f.Kind == wire.Kill {
				st.cancel()
				return
			}
			<-created
		}
		select {
		case <-st.ready:
		case <-st.done:
			return
		}
		if f.Kind == wire.Kill {
			st.say(agentapi.WhyCancel)
		}
		st.toNodes(f.Kind, f.N, f.Payload)
	}
}
