package srun

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
)

// window is how much of srun's input may be on its way to the slowest node: tasks that do not read
// it hold up nobody.
const window = 1 << 20

// credit is how many bytes each node has yet to take.
type credit struct {
	mu    sync.Mutex
	freed *sync.Cond
	owed  []uint64
	over  []bool
}

func newCredit(nodes int) *credit {
	c := &credit{owed: make([]uint64, nodes), over: make([]bool, nodes)}
	c.freed = sync.NewCond(&c.mu)
	return c
}

// take waits until n more bytes may be sent; false: nobody is there any more.
func (c *credit) take(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		most, alive := uint64(0), false
		for i, o := range c.owed {
			if !c.over[i] {
				most, alive = max(most, o), true
			}
		}
		if !alive {
			return false
		}
		if most+uint64(n) <= window {
			break
		}
		c.freed.Wait()
	}
	for i := range c.owed {
		c.owed[i] += uint64(n)
	}
	return true
}

func (c *credit) give(node int, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node < len(c.owed) {
		c.owed[node] -= min(n, c.owed[node])
	}
	c.freed.Broadcast()
}

func (c *credit) gone(node int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node < len(c.over) {
		c.over[node] = true
	}
	c.freed.Broadcast()
}

// openInput is what srun sends to its tasks; nil if it sends nothing.
func (s *session) openInput() (io.Reader, error) {
	switch in := s.calls[0].stdin; {
	case in == "none" || perTask(in):
		return nil, nil
	case ownFile(in) != "":
		f, err := s.open(in, "stdin")
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	if s.stdin == nil {
		s.out.Write(wire.Stdin, wire.All, nil)
		return nil, nil
	}
	return s.stdin, nil
}

// feed sends the input on, as fast as the tasks take it.
func (s *session) feed(in io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 && (!s.credit.take(n) || s.out.Write(wire.Stdin, wire.All, buf[:n]) != nil) {
			return
		}
		if err != nil {
			s.out.Write(wire.Stdin, wire.All, nil)
			return
		}
	}
}

// terminal prepares --pty: the first task gets a terminal, and srun's own is out of the way until restore.
func (s *session) terminal(req *wire.Request) (restore func()) {
	restore = func() {}
	if !s.first.pty {
		return restore
	}
	size, err := winsize(s.stdin)
	if err != nil {
		s.error("ioctl(TIOCGWINSZ): Inappropriate ioctl for device")
		s.error("Not using a pseudo-terminal, disregarding --pty option")
		s.first.pty = false
		return restore
	}
	req.Pty = &size
	fd := int(s.stdin.Fd())
	old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return restore
	}
	raw := *old
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(fd, unix.TCSETS, &raw) != nil {
		return restore
	}
	return func() { unix.IoctlSetTermios(fd, unix.TCSETS, old) }
}

func winsize(f *os.File) (wire.Size, error) {
	if f == nil {
		return wire.Size{}, unix.ENOTTY
	}
	w, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return wire.Size{}, err
	}
	return wire.Size{Rows: w.Row, Cols: w.Col}, nil
}
