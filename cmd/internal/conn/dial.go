package conn

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Dial connects to a unix socket. Its path may be longer than the kernel takes, which is 107 bytes: the socket is reached through a descriptor of its directory.
func Dial(path string) (io.ReadWriteCloser, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	short := "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path)
	for {
		if err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: short}); err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		syscall.Close(fd)
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
