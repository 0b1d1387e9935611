package agent

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
)

// socket is where a run's commands (squeue, sbatch ...) find the daemon on this machine. It acts as
// the run's owner, and so serves that user alone.
type socket struct {
	path   string
	dir    string // made for it alone; "": none
	server *http.Server
	asking asking
}

// maxSocketPath is how long the name of a unix socket may be.
const maxSocketPath = 107

// listen opens the run's socket.
func (r *run) listen() (*socket, error) {
	s := &socket{path: filepath.Join(r.dir, "fsub.sock")}
	if len(s.path) > maxSocketPath {
		dir, err := shortDir(r.a.cfg.Boot.Instance)
		if err != nil {
			return nil, err
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			return nil, err
		}
		s.dir, s.path = dir, filepath.Join(dir, "fsub.sock")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(s.path, 0o666); err != nil { // who it is is asked of the kernel
		l.Close()
		return nil, err
	}
	s.server = &http.Server{Handler: r.a.passOn(r.l.Run), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(quiet{}, "", 0)}
	s.asking.watch(s.server)
	go s.server.Serve(newOwned(l, r.l.User.UID))
	return s, nil
}

// shortDir makes a directory with a short name. The name holds the machine's, so that what a killed
// agent leaves can be removed with the machine.
func shortDir(instance string) (dir string, err error) {
	for _, parent := range []string{"/run", "/tmp"} { // the first is root's, and goes with a real machine
		if dir, err = os.MkdirTemp(parent, "fsub-agent-"+instance+"-"); err == nil {
			return dir, nil
		}
	}
	return "", err
}

func (s *socket) close() {
	s.server.Close()
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// passOn hands requests to the daemon, which answers as the run's owner.
func (a *Agent) passOn(run string) http.Handler {
	base, err := url.Parse(a.server.base)
	if err != nil {
		return http.NotFoundHandler() // newServer has seen to it that it is one
	}
	return &httputil.ReverseProxy{
		Transport:     a.server.http.Transport,
		FlushInterval: -1, // some answers go on for as long as a job
		ErrorLog:      log.New(quiet{}, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			path := agentapi.PathJob + url.PathEscape(run) + r.In.URL.EscapedPath()
			r.Out.URL = &url.URL{Scheme: base.Scheme, Host: base.Host, Path: path, RawPath: path, RawQuery: r.In.URL.RawQuery}
			if plain, err := url.PathUnescape(path); err == nil {
				r.Out.URL.Path = plain
			}
			r.Out.Header.Set("Authorization", "Bearer "+a.server.session)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if !errors.Is(err, context.Canceled) {
				http.Error(w, "the daemon is not there: "+err.Error(), http.StatusServiceUnavailable)
			}
		},
	}
}

// maxConns is how many connections a run's commands can have at one time; more of them wait. The
// agent has only so many open files, and other runs beside it.
const maxConns = 512

// owned is a listener that lets in one user, root, and whoever the agent is.
type owned struct {
	*net.UnixListener
	uid  uint32
	room chan struct{}
}

func newOwned(l *net.UnixListener, uid uint32) *owned {
	return &owned{l, uid, make(chan struct{}, maxConns)}
}

// counted is a connection that makes room when it is closed.
type counted struct {
	*net.UnixConn
	leave func()
}

func (c *counted) Close() error {
	c.leave()
	return c.UnixConn.Close()
}

func (o *owned) Accept() (net.Conn, error) {
	o.room <- struct{}{}
	c, err := o.accept()
	if err != nil {
		<-o.room
		return nil, err
	}
	return &counted{c, sync.OnceFunc(func() { <-o.room })}, nil
}

func (o *owned) accept() (*net.UnixConn, error) {
	for {
		c, err := o.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peer(c); err == nil && (uid == o.uid || uid == 0 || uid == uint32(os.Geteuid())) {
			return c, nil
		}
		c.Close()
	}
}

// peer is who called, by the kernel's word.
func peer(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if err2 := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err2 != nil {
		return 0, err2
	}
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}

// quiet drops what package http would print.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }
