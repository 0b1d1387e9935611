package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/api/identity"
	"fsub/federation/peer"
	"fsub/federation/web"
)

// listenProxy opens the socket for the proxy that says who asks for the page; nil: none is configured. Only the proxy's user may open it, and, as a file's mode is changed after
// the file is made, only connections of that user are taken.
func listenProxy(c *config.Config, log *slog.Logger) (net.Listener, error) {
	p := c.Web.Proxy
	if p.Socket == "" {
		return nil, nil
	}
	uid, gid, err := identity.SystemUsers{}.UserIDs(p.User)
	if err != nil {
		return nil, fmt.Errorf("web: proxy: user: %w", err)
	}
	if uid == 0 {
		return nil, errors.New("web: proxy: user is root: name the user whom the proxy runs as, who needs no more rights than that")
	}
	l, err := Listen(p.Socket)
	if err != nil {
		return nil, fmt.Errorf("web: proxy: %w", err)
	}
	if err := hand(p.Socket, int(uid), int(gid)); err != nil {
		l.Close()
		return nil, fmt.Errorf("web: proxy: the socket cannot be given to %s: run the daemon as root, or add its user to the group of %s: %w", p.User, p.User, err)
	}
	return identity.OnlyUser(l, uid, log), nil
}

// hand gives a file to a user; a daemon that is not root gives it to the user's group.
func hand(path string, uid, gid int) error {
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	if uid == os.Geteuid() {
		return nil
	}
	err := os.Chown(path, uid, -1)
	if err == nil || os.Geteuid() == 0 {
		return err
	}
	if err := os.Chown(path, -1, gid); err != nil {
		return err
	}
	return os.Chmod(path, 0o660)
}

// serveProxy serves the page to the proxy on l, which may be nil, until ctx is done.
func serveProxy(ctx context.Context, l net.Listener, c *config.Config, api http.Handler, log *slog.Logger) error {
	if l == nil {
		return nil
	}
	log.Info("listening for the proxy of browsers", "socket", c.Web.Proxy.Socket, "user", c.Web.Proxy.User, "header", c.Web.Proxy.Named())
	with := webConfig(c)
	with.API = api
	return peer.Serve(ctx, l, web.ByProxy(with, c.Web.Proxy.Named()))
}
