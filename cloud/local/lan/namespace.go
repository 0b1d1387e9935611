package lan

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"fsub/cloud/local/inside"
)

// within runs f in a network namespace, on a thread that ends with it.
func within(namespace *os.File, f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is of no use to others
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter the network namespace: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

// sameNamespace reports whether a network namespace is the one that the caller is in.
func sameNamespace(namespace *os.File) (bool, error) {
	other, err := namespace.Stat()
	if err != nil {
		return false, err
	}
	own, err := os.Stat("/proc/thread-self/ns/net")
	return err == nil && os.SameFile(own, other), err
}

// newNamespace makes a network namespace that lasts until it is closed.
func newNamespace() (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- result{nil, fmt.Errorf("make a network namespace: %w", err)}
			return
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		done <- result{f, err}
	}()
	r := <-done
	return r.file, r.err
}

// lockFile is held by who changes what LANs of all daemons share.
const lockFile = "/run/fsub-lan.lock"

func locked(f func() error) error {
	file, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", lockFile, err)
	}
	return f()
}

// owned reports whether the process that a bridge names lives.
func owned(alias string) bool {
	p, err := inside.ParseProcess(strings.TrimSpace(alias))
	return err == nil && p.Alive()
}
