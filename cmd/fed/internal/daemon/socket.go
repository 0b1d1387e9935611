package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fsub/cmd/fed/internal/systemd"
)

// Listen opens the socket for everybody on this machine: the kernel says who a caller is, file
// modes do not matter. It replaces a socket that a dead daemon left behind, but neither one that is
// answered nor anything that is not a socket.
func Listen(path string) (net.Listener, error) {
	if err := makeRoom(path); err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		l.Close()
		return nil, fmt.Errorf("socket: %w", err)
	}
	return l, nil
}

// listenSocket is Listen, unless systemd has the socket already: there callers wait while the daemon restarts.
func listenSocket(path string, m *systemd.Manager) (net.Listener, error) {
	if l := m.Take("unix", path); l != nil {
		return l, nil
	}
	return Listen(path)
}

// maxSocketPath is what the kernel has room for.
const maxSocketPath = 107

// makeRoom makes sure that a socket can be made at path, and that nobody else can replace it.
func makeRoom(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("the path has %d bytes, the kernel takes %d; set a shorter one", len(path), maxSocketPath)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if m := st.Mode(); m.Perm()&0o002 != 0 && m&os.ModeSticky == 0 {
		return fmt.Errorf("anybody could replace it, since everybody may write to %s; run: chmod o-w %s", dir, dir)
	}
	old, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case old.Mode().Type() != os.ModeSocket:
		return errors.New("there is something else of that name; move it away or set another socket")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		conn.Close()
		return errors.New("another daemon answers on it; stop that one or set another socket")
	case !errors.Is(err, syscall.ECONNREFUSED): // only that says that nobody listens: a busy daemon's queue may be full
		return fmt.Errorf("cannot tell whether another daemon uses it: %w; stop that one, or remove the socket", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the old one: %w", err)
	}
	return nil
}
