package conn

import (
	"io"
	"os"
	"syscall"
)

// Upgrade asks for the connection to become a tunnel of a protocol. With status 101 it is the caller's to use and to close, and has no time-out; the next call makes a
// new connection. Any other status is an answer as of Do.
func (c *Conn) Upgrade(path, protocol string) (status int, reply []byte, tunnel io.ReadWriteCloser, err error) {
	c.Close() // one that was used before may break unseen
	if err := c.connect(); err != nil {
		return 0, nil, nil, err
	}
	c.upgrade = protocol
	err = c.send("POST", path, "", nil)
	c.upgrade = ""
	if err != nil {
		c.Close()
		return 0, nil, nil, err
	}
	h, err := c.readHead()
	switch {
	case err != nil:
	case h.status == switching:
		tunnel, err = c.release()
		return h.status, nil, tunnel, err
	case h.length >= 0:
		reply, err = c.take(h.length)
	case h.chunked:
		reply, err = c.readChunks()
	}
	c.Close()
	return h.status, reply, nil, err
}

// release gives the connection away.
func (c *Conn) release() (io.ReadWriteCloser, error) {
	t := &tunnel{first: c.buf}
	if c.tls != nil {
		t.ReadWriteCloser = untimed(c.tls)
	} else {
		if err := syscall.SetNonblock(c.fd, true); err != nil {
			c.Close()
			return nil, c.broken(err)
		}
		t.ReadWriteCloser = os.NewFile(uintptr(c.fd), c.path)
	}
	c.tls, c.open, c.buf = nil, false, nil
	return t, nil
}

// tunnel is a connection of which some bytes may have come with the answer.
type tunnel struct {
	io.ReadWriteCloser
	first []byte
}

func (t *tunnel) Read(p []byte) (int, error) {
	if len(t.first) > 0 {
		n := copy(p, t.first)
		t.first = t.first[n:]
		return n, nil
	}
	return t.ReadWriteCloser.Read(p)
}
