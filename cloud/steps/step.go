package steps

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
	"fsub/slurm/hostlist"
)

// step is a step on the gang's first machine, from srun's request to its end.
type step struct {
	launch *agentapi.Launch
	req    wire.Request
	id     uint32
	shares []share // in the order of the step's nodes
	counts []int   // how many of them belong to each part
	waited bool
	start  time.Time

	out    *wire.Writer    // to srun
	ready  chan struct{}   // closed when all nodes have their connections
	done   <-chan struct{} // closed when nobody serves the step any more
	cancel context.CancelFunc

	mu    sync.Mutex
	nodes []*wire.Writer // nil: not connected, or over
	ended bool
	said  bool // the line of its end
	tally tally
}

// tally is what is known of how a step went.
type tally struct {
	exit    uint32 // highest status
	failed  bool
	stopped agentapi.Why // why it was ended, if it was
	killed  bool
	lost    bool
	oom     bool
	used    agentapi.Used
	end     time.Time
}

// serveStep does what one srun asks for, until its step is over.
func (s *Service) serveStep(r *run, c net.Conn, in *wire.Reader, first wire.Frame) {
	req, err := wire.JSON[wire.Request](first)
	st := &step{launch: r.Launch, req: req, out: wire.NewWriter(c), ready: make(chan struct{})}
	if err != nil || len(req.Parts) == 0 {
		st.out.Write(wire.Refused, 0, []byte("srun and this agent do not understand each other"))
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	st.cancel, st.done = cancel, ctx.Done()
	created := make(chan struct{})
	s.wg.Go(func() { st.readSrun(in, created) })
	err = r.books.create(ctx, st)
	close(created)
	if err != nil {
		st.refuse(err)
		return
	}
	if st.req.TestOnly {
		close(st.ready)
		r.books.end(st)
		st.out.WriteJSON(wire.Created, 0, st.layout())
		st.out.Write(wire.End, 0, nil)
		return
	}
	s.conduct(ctx, r, st)
}

func (st *step) refuse(err error) {
	var text string
	switch refused, ok := errors.AsType[*layout.Refused](err); {
	case ok && refused.Text != layout.TooMany && refused.Text != layout.NoGPUs:
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
	st.nodes = make([]*wire.Writer, len(l.Nodes))
	if st.req.Timeout > 0 {
		t := time.AfterFunc(st.req.Timeout, func() { st.stop(Stop{agentapi.WhyTimeout, st.launch.KillWait}) })
		defer t.Stop()
	}
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
	r.books.end(st)
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
	st.mu.Lock()
	st.nodes[i] = wire.NewWriter(c)
	st.mu.Unlock()
	dialed()
	in := wire.NewReader(bufio.NewReaderSize(c, 16<<10))
	for {
		f, err := in.Read()
		if err != nil {
			st.lose(i, err)
			return
		}
		st.note(f, l.Nodes[i].Name)
		if st.out.Write(f.Kind, f.N, f.Payload) != nil {
			st.cancel() // srun is gone: nothing of its step stays
		}
		if f.Kind == wire.NodeEnd {
			break
		}
	}
	st.mu.Lock()
	st.nodes[i] = nil
	st.mu.Unlock()
}

// open starts the step on one node: here, or through the node's own service.
func (s *Service) open(ctx context.Context, r *run, st *step, l *wire.Layout, i int) (net.Conn, error) {
	launch := st.nodeLaunch(l, i, s.port())
	sh := &st.shares[i]
	if sh.group == r.Launch.Group && sh.node == r.Launch.Node {
		return s.startDaemon(r, launch)
	}
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

// nodeLaunch is what the i-th node of the step is told.
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
		for k := range l.Nodes {
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

// toNodes sends a frame to all nodes that are there.
func (st *step) toNodes(k wire.Kind, n uint32, payload []byte) {
	st.mu.Lock()
	if k == wire.Kill && st.tally.stopped == "" {
		st.tally.killed = true
	}
	nodes := append([]*wire.Writer(nil), st.nodes...)
	st.mu.Unlock()
	for _, w := range nodes {
		if w != nil {
			w.Write(k, n, payload)
		}
	}
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
	st.mu.Unlock()
	st.say(s.Why)
	st.toNodes(wire.Kill, uint32(s.Grace/time.Millisecond), nil)
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
	first := &st.shares[0]
	line := "slurmstepd: error: *** STEP " + st.name() + " ON " + st.launch.Groups[first.group].Nodes[first.node].Name + " CANCELLED AT " +
		time.Now().Format("2006-01-02T15:04:05")
	switch why {
	case agentapi.WhyTimeout:
		line += " DUE TO TIME LIMIT"
	case agentapi.WhyPreempt:
		line += " DUE TO PREEMPTION"
	case agentapi.WhyNode:
		line += " DUE TO NODE FAILURE"
	}
	st.out.Write(wire.Cancelled, 0, []byte(line+" ***\n"))
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

// note keeps what a frame from a node says of how the step went.
func (st *step) note(f wire.Frame, node string) {
	if f.Kind != wire.Exits && f.Kind != wire.NodeEnd {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	t := &st.tally
	if f.Kind == wire.Exits {
		exits, _ := wire.JSON[[]wire.Exit](f)
		for _, e := range exits {
			t.exit = worse(t.exit, e.Status)
		}
		return
	}
	used, _ := wire.JSON[wire.NodeUsed](f)
	t.oom = t.oom || used.OOM
	t.used.User += used.User
	t.used.System += used.System
	t.used.Read += used.Read
	t.used.Written += used.Write
	if used.MaxRSS > t.used.MaxRSS {
		t.used.MaxRSS, t.used.MaxNode = used.MaxRSS, node
	}
}

// worse is the status that a step has of two tasks: the higher exit code, where a signal counts as 128 and more.
func worse(a, b uint32) uint32 {
	if code(b) > code(a) {
		return b
	}
	return a
}

func code(status uint32) uint32 {
	if sig := status & 0x7f; sig != 0 {
		return 128 + sig
	}
	return status >> 8 & 0xff
}

// status is the step for the books of the job. The caller holds books.mu.
func (st *step) status() agentapi.Step {
	st.mu.Lock()
	defer st.mu.Unlock()
	a := agentapi.Step{
		ID: strconv.FormatUint(uint64(st.id), 10), Name: st.req.Name, State: "RUNNING", Start: st.start, End: st.tally.end,
		Exit: int32(st.tally.exit), Used: st.tally.used,
	}
	var names []string
	for i := range st.shares {
		sh := &st.shares[i]
		names = append(names, st.launch.Groups[sh.group].Nodes[sh.node].Name)
		a.Tasks += len(sh.part.Ranks)
		a.CPUs += sh.part.CPUs
	}
	a.Nodes = hostlist.Compress(names)
	if st.ended {
		a.State = st.tally.state()
	}
	return a
}

// state is how a step that is over is called.
func (t *tally) state() string {
	switch {
	case t.lost && t.stopped == "":
		return "NODE_FAIL"
	case t.oom:
		return "OUT_OF_MEMORY"
	case t.stopped == agentapi.WhyTimeout:
		return "TIMEOUT"
	case t.stopped == agentapi.WhyPreempt:
		return "PREEMPTED"
	case t.stopped != "" || t.killed:
		return "CANCELLED"
	case t.exit != 0:
		return "FAILED"
	}
	return "COMPLETED"
}
