package steps

import (
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/cloud/pmi"
	"fsub/cloud/steps/wire"
)

// mpi is how the MPI programs of a step on one node find the others, and the step daemon's part of it.
type mpi struct {
	d   *daemon
	pmi *pmi.Server
}

// newMPI returns nil where the step is not one of MPI programs.
func newMPI(d *daemon) *mpi {
	m := d.n.MPI
	if m == nil {
		return nil
	}
	n := &mpi{d: d}
	size := 0
	for _, ranks := range m.Ranks {
		size += len(ranks)
	}
	id := strconv.FormatUint(uint64(d.n.Job), 10) + "." + strconv.FormatUint(uint64(d.n.Step), 10)
	n.pmi = pmi.New(pmi.Step{ID: id, Size: size, Local: len(d.n.Tasks), Mapping: pmi.Mapping(m.Ranks)}, n)
	return n
}

// connect makes a task's connection. It returns the task's end of it, 0 if there is none, and what the task's environment says of it.
func (n *mpi) connect(rank int) (fd int, env []string, err error) {
	if n == nil {
		return 0, nil, nil
	}
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
		n.pmi.Serve(rank, c)
		c.Close()
	}()
	return fds[1], n.pmi.Env(rank, fds[1]), nil
}

// met is the end of a fence.
func (n *mpi) met(f wire.Frame) {
	m, err := wire.JSON[wire.Meeting](f)
	if n == nil || err != nil {
		return
	}
	if err := n.pmi.Fenced(m.Data); err != nil {
		n.d.complain(err.Error())
	}
}

// Fence implements [pmi.Up].
func (n *mpi) Fence(data []byte) {
	n.d.out.WriteJSON(wire.Meet, uint32(n.d.n.Node), wire.Meeting{Data: data})
}

// Abort implements [pmi.Up].
func (n *mpi) Abort() { n.d.out.Write(wire.Abort, uint32(n.d.n.Node), nil) }

// Complain implements [pmi.Up].
func (n *mpi) Complain(text string) { n.d.complain(text) }
