package steps

import (
	"bytes"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
)

// Sizes of a stream's buffer: most tasks say little, and there may be hundreds of them.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

// pump sends on what comes out of a task's pipe: whole lines, unless the step is unbuffered; a line
// longer than the buffer in pieces.
func (d *daemon) pump(f *os.File, kind wire.Kind, rank uint32) {
	d.pumps.Go(func() {
		defer f.Close()
		buf := make([]byte, smallBuffer)
		have := 0
		for {
			n, err := f.Read(buf[have:])
			have += n
			send := have
			if err == nil && !d.n.Part.Unbuffered && d.n.Pty == nil {
				send = bytes.LastIndexByte(buf[:have], '\n') + 1
				if send == 0 && have == largeBuffer {
					send = have
				}
			}
			if send > 0 {
				d.out.Write(kind, rank, buf[:send])
				have = copy(buf, buf[send:have])
			}
			if err != nil {
				return
			}
			if n == len(buf)-have || have == len(buf) || send == len(buf) {
				if len(buf) < largeBuffer {
					buf = append(buf, make([]byte, largeBuffer-len(buf))...)
				}
			}
		}
	})
}

// pollable makes a file whose reads and writes block no thread.
func pollable(fd int) *os.File {
	unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "stream")
}

// feed is a task's stdin: a queue, which srun keeps short by waiting for what was taken, and a
// goroutine that empties it.
type feed struct {
	d *daemon
	f *os.File

	mu     sync.Mutex
	more   *sync.Cond
	queue  [][]byte
	eof    bool
	closed bool
	taken  uint64
}

func newFeed(d *daemon, fd int) *feed {
	p := &feed{d: d, f: pollable(fd)}
	p.more = sync.NewCond(&p.mu)
	go p.run()
	return p
}

func (p *feed) run() {
	defer p.f.Close()
	for {
		p.mu.Lock()
		for len(p.queue) == 0 && !p.eof && !p.closed {
			p.more.Wait()
		}
		if p.closed || len(p.queue) == 0 {
			p.mu.Unlock()
			return
		}
		b := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		_, err := p.f.Write(b)
		p.mu.Lock()
		p.taken += uint64(len(b))
		p.closed = p.closed || err != nil // the task reads no more
		p.mu.Unlock()
		p.d.tellTaken()
	}
}

func (p *feed) give(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(b) == 0 {
		p.eof = true
	} else if !p.closed {
		p.queue = append(p.queue, b)
	}
	p.more.Signal()
}

// close drops what is left: the task has ended.
func (p *feed) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed, p.queue = true, nil
	p.f.SetWriteDeadline(past)
	p.more.Signal()
}

// feed gives tasks a piece of srun's stdin.
func (d *daemon) feed(f wire.Frame) {
	b := append([]byte(nil), f.Payload...)
	d.mu.Lock()
	d.fed += uint64(len(b))
	d.mu.Unlock()
	if d.pty != nil {
		d.pty.Write(b)
	}
	for i := range d.tasks {
		if t := &d.tasks[i]; t.stdin != nil {
			t.stdin.give(b)
		}
	}
	d.tellTaken()
}

// tellTaken tells how much more of stdin every task has, so that srun sends more.
func (d *daemon) tellTaken() {
	d.mu.Lock()
	defer d.mu.Unlock()
	least := d.fed
	for i := range d.tasks {
		if p := d.tasks[i].stdin; p != nil {
			p.mu.Lock()
			if !p.closed {
				least = min(least, p.taken)
			}
			p.mu.Unlock()
		}
	}
	if least > d.taken {
		d.out.WriteJSON(wire.Taken, uint32(d.n.Node), least-d.taken)
		d.taken = least
	}
}

// terminal gives the first task a terminal of its own.
func (d *daemon) terminal(c *child) error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	slave := -1
	if err == nil {
		slave, err = c.open("/dev/pts/"+digits(n), unix.O_RDWR|unix.O_NOCTTY)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	c.fds, c.tty = [3]int{slave, slave, slave}, true
	d.pty, d.ptyFD = os.NewFile(uintptr(fd), "terminal"), fd
	d.resize(*d.n.Pty)
	d.pump(d.pty, wire.Stdout, 0)
	return nil
}

// resize tells the task of a new size of srun's terminal.
func (d *daemon) resize(s wire.Size) {
	if d.pty != nil {
		unix.IoctlSetWinsize(d.ptyFD, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Cols})
	}
}
