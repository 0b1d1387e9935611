package steps

import (
	"net"
	"os"

	"fsub/cloud/pmi/pmix"
	"fsub/cloud/pmi/sweep"
	"fsub/cloud/steps/wire"
)

// pmixServer is PMIx: tasks come to a port, and have a folder for their files.
type pmixServer struct {
	s     *pmix.Server
	l     net.Listener
	sweep *sweep.Sweeper
	up    *mpiUp
}

// sharedMemory is where a machine has files that are memory. pmixFolders begins the names of the
// folders that steps have there or in the folder for temporary files.
const (
	sharedMemory = "/dev/shm"
	pmixFolders  = "pmix."
)

// sweepWord is the word by which the step daemon's program does what step daemons that were killed
// have left to do.
const sweepWord = "sweep"

// sweepStale does that. What other users have, and what is in use, is left alone.
func sweepStale() int {
	if sweep.Stale(pmixFolders, os.TempDir(), sharedMemory) != nil {
		return 1
	}
	return 0
}

func newPMIx(d *daemon, id string, up *mpiUp) (mpi, error) {
	base := os.TempDir()
	name, _ := os.Hostname()
	_, err := os.Stat(sharedMemory)
	own := name != d.n.Nodes[d.n.Node] && err == nil // other nodes of the step may be on this machine
	switch {
	case own:
		base = sharedMemory
	case d.n.Box != nil:
		base = d.n.Box.Dirs.Run // a container has a /tmp of its own, and sees this
	}
	dir, err := os.MkdirTemp(base, pmixFolders+id+".")
	if err != nil {
		return nil, err
	}
	p := &pmixServer{sweep: &sweep.Sweeper{Dir: dir}, up: up}
	if d.n.Box == nil {
		err = p.sweep.Note()
	} else {
		p.sweep.Root = func() (*os.File, error) { return d.box.openRoot() } // which is made later
	}
	if err == nil {
		p.l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		p.sweep.Close()
		return nil, err
	}
	shared := ""
	if own {
		shared = dir
	}
	n := d.n
	p.s = pmix.New(pmix.Step{Job: n.Job, Step: n.Step, ID: id, Secret: n.MPI.Secret, Hosts: n.Nodes, Ranks: n.MPI.Ranks, Node: n.Node, Dir: dir, Shared: shared,
		Cleaner: p.sweep}, pmixUp{up})
	go p.accept()
	go sweepStale() // of steps whose agent was killed too
	return p, nil
}

func (p *pmixServer) accept() {
	for {
		c, err := accept(p.l)
		if err != nil {
			return
		}
		go func() {
			p.s.Serve(c)
			c.Close()
		}()
	}
}

func (p *pmixServer) connect(rank int) (fd int, env []string, err error) {
	return 0, p.s.Env(rank, p.l.Addr().(*net.TCPAddr).Port), nil
}

func (p *pmixServer) met(m wire.Meeting) error {
	if m.Direct && len(m.Nodes) == 1 {
		return p.s.Receive(m.Nodes[0], m.Data)
	}
	return p.s.Fenced(m.ID, m.Data)
}

func (p *pmixServer) end() { p.s.End() }

func (p *pmixServer) close() {
	p.l.Close()
	p.up.wait()
	if p.s.CleanUp() || p.sweep.Root != nil {
		p.sweep.Close()
	} // else whoever looks next does the rest, by the folder's note
}

type pmixUp struct{ *mpiUp }

// Abort implements [pmix.Up].
func (u pmixUp) Abort(code int) { u.d.out.Write(wire.Abort, uint32(code), nil) }

// Fence implements [pmix.Up].
func (u pmixUp) Fence(id string, nodes []int, data []byte) {
	u.meet(wire.Meeting{ID: id, Nodes: nodes, Data: data})
}
