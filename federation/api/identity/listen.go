package identity

import (
	"log/slog"
	"net"
	"sync"

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
		if err != nil || l.roles.of(Caller{UID: cred.Uid}) == RoleAdministrator {
			return c, nil
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

// userConn is a counted connection.
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
