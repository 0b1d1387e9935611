package steps

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// The kernel takes no path of a socket that is longer than 107 bytes, and a run's directory may be
// deep. So sockets are reached through a descriptor of their directory.

// listenUnix makes a socket that only the user can use.
func listenUnix(path string, uid int) (net.Listener, error) {
	os.Remove(path)
	var l net.Listener
	err := near(path, func(short string) (err error) {
		l, err = net.Listen("unix", short)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if os.Geteuid() == 0 {
		err = os.Chown(path, uid, -1)
	}
	if err = errors.Join(err, os.Chmod(path, 0o600)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Dial connects to the service whose socket [SocketEnv] names.
func Dial(path string) (c net.Conn, err error) {
	err = near(path, func(short string) (err error) {
		c, err = net.Dial("unix", short)
		return err
	})
	return c, err
}

// acceptPause is between attempts to accept a connection where there are, say, too many open files.
const acceptPause = 50 * time.Millisecond

// accept waits for a connection until the listener is closed. Any other error may pass.
func accept(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		time.Sleep(acceptPause)
	}
}

// near calls f with a short name for path.
func near(path string, f func(short string) error) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return f("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}
