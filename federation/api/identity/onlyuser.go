package identity

import (
	"log/slog"
	"net"
)

// OnlyUser lets connections of one user of this machine through, and closes those of all others unread: l is a unix socket, and the kernel says whose they are. Root is one of
// the others.
func OnlyUser(l net.Listener, uid uint32, log *slog.Logger) net.Listener {
	return &onlyUser{Listener: l, uid: uid, log: log}
}

type onlyUser struct {
	net.Listener
	uid uint32
	log *slog.Logger
}

// Accept implements net.Listener.
func (l *onlyUser) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		cred, err := peerCred(c)
		if err == nil && cred.Uid == l.uid {
			return c, nil
		}
		if err == nil {
			l.log.Warn("connection refused: it is of another user", "uid", cred.Uid, "want", l.uid)
		}
		c.Close()
	}
}
