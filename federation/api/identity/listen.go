package identity

import (
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxConns bounds the connections of one user: each holds a file descriptor of the daemon, and those end before memory does.
const maxConns = 1024

// crowd keeps open connections by whose they are. Nobody has more than most. When there are as many as all may have together, whoever comes takes the
// place of one of those who have most: however many take all that they get, the daemon's file descriptors are not used up, and others find some.
type crowd[K comparable] struct {
	most, all int

	mu   sync.Mutex
	open map[K]map[io.Closer]bool
	sum  int
}

// newCrowd divides a fifth of the file descriptors that this process may have, for there are several listeners and other files; but one alone may have most.
func newCrowd[K comparable](most int) *crowd[K] {
	var files unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files) // it fails on no Linux
	return &crowd[K]{most: most, all: max(int(min(files.Cur, 1<<30))/5, 2*most), open: map[K]map[io.Closer]bool{}}
}

// take counts a connection of k's until release. It reports whether there is room for it.
func (o *crowd[K]) take(k K, c io.Closer) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	own := len(o.open[k])
	if own >= o.most || o.sum >= o.all && !o.yield(own+1) {
		return false
	}
	if own == 0 {
		o.open[k] = map[io.Closer]bool{}
	}
	o.open[k][c] = true
	o.sum++
	return true
}

// yield closes a connection of one who has most, if that is more than so many.
func (o *crowd[K]) yield(than int) bool {
	var whose *K
	for k, conns := range o.open {
		if len(conns) > than {
			whose, than = &k, len(conns)
		}
	}
	if whose == nil {
		return false
	}
	for c := range o.open[*whose] {
		c.Close()
		o.drop(*whose, c)
		break
	}
	return true
}

func (o *crowd[K]) release(k K, c io.Closer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(k, c)
}

func (o *crowd[K]) drop(k K, c io.Closer) {
	if !o.open[k][c] {
		return
	}
	o.sum--
	if delete(o.open[k], c); len(o.open[k]) == 0 {
		delete(o.open, k)
	}
}

// fairListener accepts connections on a unix socket, and bounds those of any one user who is not an administrator.
// What is too much is closed at once.
type fairListener struct {
	net.Listener
	users *crowd[uint32] // by uid
	roles *roles
	log   *slog.Logger
}

// Listen bounds the connections that each user may have to l at a time.
func (i *Identity) Listen(l net.Listener) net.Listener {
	return &fairListener{Listener: l, users: newCrowd[uint32](maxConns), roles: i.roles, log: i.log}
}

// Accept implements net.Listener.
func (l *fairListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		u, ok := c.(*net.UnixConn)
		if !ok {
			return c, nil // has no user, and is refused with the reason by the first request
		}
		cred, err := peerCred(u)
		if err != nil {
			return c, nil
		}
		if l.roles.of(Caller{UID: cred.Uid}) == RoleAdministrator {
			return &userConn{UnixConn: u, cred: cred, free: func() {}}, nil
		}
		if !l.users.take(cred.Uid, u) {
			l.log.Debug("connection refused: the user has too many", "uid", cred.Uid)
			c.Close()
			continue
		}
		return &userConn{UnixConn: u, cred: cred, free: sync.OnceFunc(func() { l.users.release(cred.Uid, u) })}, nil
	}
}

// userConn is a connection of a known user, counted unless that is an administrator.
type userConn struct {
	*net.UnixConn
	cred      *unix.Ucred
	free      func()
	unhurried bool
}

// Close implements net.Conn.
func (c *userConn) Close() error {
	c.free()
	return c.UnixConn.Close()
}

// Write implements net.Conn. A reader that is too slow is cut off.
func (c *userConn) Write(p []byte) (int, error) {
	if !c.unhurried {
		_ = c.SetWriteDeadline(time.Now().Add(patience(len(p))))
	}
	return c.UnixConn.Write(p)
}

// readerSlack is a variable for tests.
var readerSlack = 20 * time.Second

// patience is how long n bytes may take to be read: what is not read yet is held in memory.
func patience(n int) time.Duration {
	const slowest = 256 << 10 // bytes per second
	return readerSlack + time.Duration(n/slowest)*time.Second
}

// PerSource bounds the connections that each address, or user of this machine, may have to l, a TCP listener, at a time, whoever calls: what is too much is closed before
// anything is read. Readers that are too slow are cut off. It goes below TLS.
func PerSource(l net.Listener, most int) net.Listener {
	return &sourceListener{Listener: l, sources: newCrowd[string](most), of: sourceOf}
}

type sourceListener struct {
	net.Listener
	sources *crowd[string]
	of      func(net.Conn) string // see sourceOf
}

// Accept implements net.Listener.
func (l *sourceListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		source := l.of(c)
		if source == "" || !l.sources.take(source, c) {
			c.Close()
			continue
		}
		return &sourceConn{Conn: c, free: sync.OnceFunc(func() { l.sources.release(source, c) })}, nil
	}
}

// sourceConn is a connection from a counted address.
type sourceConn struct {
	net.Conn
	free      func()
	unhurried bool
}

// NetConn is the connection itself.
func (c *sourceConn) NetConn() net.Conn { return c.Conn }

// Unhurried lets the other side take its time from now on: what is written next holds nothing but its buffer.
func (c *sourceConn) Unhurried() { c.unhurried = true }

// Unhurried does as that of sourceConn.
func (c *userConn) Unhurried() { c.unhurried = true }

// Close implements net.Conn.
func (c *sourceConn) Close() error {
	c.free()
	return c.Conn.Close()
}

// Write implements net.Conn, as userConn does.
func (c *sourceConn) Write(p []byte) (int, error) {
	if !c.unhurried {
		_ = c.SetWriteDeadline(time.Now().Add(patience(len(p))))
	}
	return c.Conn.Write(p)
}
