package identity

import (
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxConns bounds the connections of one user: each holds a file descriptor of the daemon, and those end before memory does.
const maxConns = 1024

// fairListener accepts connections on a unix socket, no more than max at a time from any one user who is not an administrator.
// What is too much is closed at once.
type fairListener struct {
	net.Listener
	max   int
	roles roles
	log   *slog.Logger

	mu   sync.Mutex
	open map[uint32]int // by uid
}

// Listen bounds the connections that each user may have to l at a time.
func (i *Identity) Listen(l net.Listener) net.Listener {
	return &fairListener{Listener: l, max: maxConns, roles: i.roles, log: i.log, open: map[uint32]int{}}
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
		if !l.take(cred.Uid) {
			c.Close()
			continue
		}
		return &userConn{UnixConn: u, cred: cred, free: sync.OnceFunc(func() { l.release(cred.Uid) })}, nil
	}
}

func (l *fairListener) take(uid uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[uid] == l.max {
		l.log.Debug("connection refused: the user has too many", "uid", uid, "connections", l.max)
		return false
	}
	l.open[uid]++
	return true
}

func (l *fairListener) release(uid uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[uid]--; l.open[uid] == 0 {
		delete(l.open, uid)
	}
}

// userConn is a connection of a known user, counted unless that is an administrator.
type userConn struct {
	*net.UnixConn
	cred *unix.Ucred
	free func()
}

// Close implements net.Conn.
func (c *userConn) Close() error {
	c.free()
	return c.UnixConn.Close()
}

// Write implements net.Conn. A reader that is too slow is cut off.
func (c *userConn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(patience(len(p))))
	return c.UnixConn.Write(p)
}

// readerSlack is a variable for tests.
var readerSlack = 20 * time.Second

// patience is how long n bytes may take to be read: what is not read yet is held in memory.
func patience(n int) time.Duration {
	const slowest = 256 << 10 // bytes per second
	return readerSlack + time.Duration(n/slowest)*time.Second
}

// PerSource bounds the connections that each address may have to l, a TCP listener, at a time, whoever calls: what is too much is closed before
// anything is read. Readers that are too slow are cut off. It goes below TLS.
func PerSource(l net.Listener, most int) net.Listener {
	return &sourceListener{Listener: l, most: most, open: map[string]int{}}
}

type sourceListener struct {
	net.Listener
	most int
	mu   sync.Mutex
	open map[string]int // by address without port
}

// Accept implements net.Listener.
func (l *sourceListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil || !l.take(host) {
			c.Close()
			continue
		}
		return &sourceConn{Conn: c, free: sync.OnceFunc(func() { l.release(host) })}, nil
	}
}

func (l *sourceListener) take(host string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[host] >= l.most {
		return false
	}
	l.open[host]++
	return true
}

func (l *sourceListener) release(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[host]--; l.open[host] == 0 {
		delete(l.open, host)
	}
}

// sourceConn is a connection from a counted address.
type sourceConn struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *sourceConn) Close() error {
	c.free()
	return c.Conn.Close()
}

// Write implements net.Conn, as userConn does.
func (c *sourceConn) Write(p []byte) (int, error) {
	_ = c.SetWriteDeadline(time.Now().Add(patience(len(p))))
	return c.Conn.Write(p)
}
