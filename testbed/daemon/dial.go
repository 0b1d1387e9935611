package daemon

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
)

// DialAs connects to a unix socket as another user: the kernel tells the daemon uid and gid. It needs root.
func DialAs(socket string, uid, gid int) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	out := make(chan result)
	go func() {
		// The thread has another identity from here on. It is never unlocked: it ends with the goroutine.
		runtime.LockOSThread()
		c, err := dialAs(socket, uid, gid)
		out <- result{c, err}
	}()
	r := <-out
	return r.conn, r.err
}

func dialAs(socket string, uid, gid int) (net.Conn, error) {
	const keep = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, keep, uintptr(gid), keep); errno != 0 {
		return nil, fmt.Errorf("become group %d: %w", gid, errno)
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
		return nil, fmt.Errorf("become user %d: %w", uid, errno)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), socket)
	defer f.Close()
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: fmt.Errorf("%s: %w", socket, err)}
	}
	return net.FileConn(f)
}
