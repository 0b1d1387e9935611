package steps

import (
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/pmi"
	"fsub/cloud/pmi/pmix"
	"fsub/cloud/steps/wire"
)

// mpi returns the message to the step's nodes if it runs MPI programs.
func (st *step) mpi(l *wire.Layout) *wire.MPI {
	if st.req.MPI != "pmi2" && st.req.MPI != "pmix" || st.req.Receive != "" {
		return nil
	}
	m := &wire.MPI{Type: st.req.MPI, Secret: st.secret}
	for k := range l.Nodes {
		m.Ranks = append(m.Ranks, l.Nodes[k].Ranks)
	}
	return m
}

// mpi is how the tasks of an MPI program on one node find the others: the step daemon's part of it.
type mpi interface {
	// connect lets a task speak to the server of its node. It returns the task's end of a
	// connection, 0 if there is none, and what the task's environment says of it.
	connect(rank int) (fd int, env []string, err error)
	// met is the end of a fence.
	met(m wire.Meeting) error
	// end: the tasks are being killed.
	end()
	close()
}

// newMPI returns nil where the step is not one of MPI programs.
func newMPI(d *daemon) (mpi, error) {
	m := d.n.MPI
	if m == nil {
		return nil, nil
	}
	up := &mpiUp{d: d}
	id := strconv.FormatUint(uint64(d.n.Job), 10) + "." + strconv.FormatUint(uint64(d.n.Step), 10)
	if m.Type == "pmix" {
		return newPMIx(d, id, up)
	}
	size := 0
	for _, ranks := range m.Ranks {
		size += len(ranks)
	}
	return pmi2{pmi.New(pmi.Step{ID: id, Size: size, Local: len(d.n.Tasks), Node: d.n.Node, Mapping: pmi.Mapping(m.Ranks)}, up), up}, nil
}

// connectMPI is connect, and what a task's environment must not have.
func (d *daemon) connectMPI(rank int, env []string) (fd int, with []string, err error) {
	if d.mpi == nil {
		return 0, env, nil
	}
	fd, own, err := d.mpi.connect(rank)
	if valueOf(env, "SLURM_MPI_TYPE") == "" { // it is the pool's default
		own = append(own, "SLURM_MPI_TYPE="+d.n.MPI.Type)
	}
	return fd, override(slices.DeleteFunc(slices.Clone(env), pmix.Foreign), own), err
}

func (d *daemon) closeMPI() {
	if d.mpi != nil {
		d.mpi.close()
	}
}

// met is the end of a fence.
func (d *daemon) met(f wire.Frame) {
	m, err := wire.JSON[wire.Meeting](f)
	if d.mpi == nil || err != nil {
		return
	}
	if err := d.mpi.met(m); err != nil {
		go d.complain(err.Error()) // a reader must not wait for a writer
	}
}

// mpiUp is what both kinds of servers reach the other nodes through. What they say waits here until
// the agent has read it, however much that is: the memory is the step's own. They say some of it as
// the answer to what the agent says, and if that had to wait, the agent might do so too, and for this one.
type mpiUp struct {
	d *daemon

	mu    sync.Mutex
	queue []wire.Meeting
	idle  chan struct{} // closed when everything was sent; nil: nothing is to be sent
}

func (u *mpiUp) meet(m wire.Meeting) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queue = append(u.queue, m)
	if u.idle == nil {
		u.idle = make(chan struct{})
		go u.say()
	}
}

// say says what there is, in its order.
func (u *mpiUp) say() {
	for {
		u.mu.Lock()
		if len(u.queue) == 0 {
			close(u.idle)
			u.queue, u.idle = nil, nil
			u.mu.Unlock()
			return
		}
		m := u.queue[0]
		u.queue[0] = wire.Meeting{}
		u.queue = u.queue[1:]
		u.mu.Unlock()
		u.d.out.WriteJSON(wire.Meet, uint32(u.d.n.Node), m)
	}
}

// sayTime is how long the end of a step waits for unsent messages: another node may wait for an
// answer. After that it is told that there is none.
const sayTime = 10 * time.Second

func (u *mpiUp) wait() {
	u.mu.Lock()
	idle := u.idle
	u.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(sayTime):
	}
}

// Abort implements [pmi.Up].
func (u *mpiUp) Abort() { u.d.out.Write(wire.Abort, 0, nil) }

// Complain implements [pmi.Up] and [pmix.Up].
func (u *mpiUp) Complain(text string) { u.d.complain(text) }

// Send implements [pmi.Up] and [pmix.Up].
func (u *mpiUp) Send(node int, data []byte) {
	u.meet(wire.Meeting{Direct: true, Nodes: []int{node}, Data: data})
}

// Fence implements [pmi.Up].
func (u *mpiUp) Fence(data []byte) { u.meet(wire.Meeting{Data: data}) }

// pmi2 is PMI-1 and PMI-2: every task has a socket of its own.
type pmi2 struct {
	s  *pmi.Server
	up *mpiUp
}

func (p pmi2) connect(rank int) (fd int, env []string, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "task")
	c, err := net.FileConn(f)
	f.Close()
	if err != nil {
		syscall.Close(fds[1])
		return 0, nil, err
	}
	go func() {
		p.s.Serve(rank, c)
		c.Close()
	}()
	return fds[1], p.s.Env(rank, fds[1]), nil
}

func (p pmi2) met(m wire.Meeting) error {
	if m.Direct && len(m.Nodes) == 1 {
		return p.s.Receive(m.Nodes[0], m.Data)
	}
	return p.s.Fenced(m.Data)
}

func (p pmi2) end() {}

func (p pmi2) close() {
	p.up.wait()
	p.s.Close()
}
