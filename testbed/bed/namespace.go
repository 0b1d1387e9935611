package bed

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs fn on an operating system thread of its own, which ends with it: what fn does to its namespaces, root and
// working directory touches nobody else. A process that fn starts inherits them.
func onThread(fn func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end, and /proc/self would show its changed namespaces forever. Keep it busy while
			// another thread does the work.
			defer runtime.UnlockOSThread()
			done <- onThread(fn)
			return
		}
		// no UnlockOSThread: the runtime then ends the thread with the goroutine
		done <- fn()
	}()
	return <-done
}

// unshare gives the current thread namespaces of its own, and mounts that do not spread.
func unshare(flags int) error {
	if err := unix.Unshare(flags | unix.CLONE_FS); err != nil {
		return namespaceError(err)
	}
	if flags&unix.CLONE_NEWNS == 0 {
		return nil
	}
	return mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// checkNamespaces fails early where the kernel or the container would fail late.
func checkNamespaces() error {
	return onThread(func() error {
		return unshare(unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET)
	})
}

func namespaceError(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("this kernel or container allows no new namespaces (unshare: %w): run on a machine, or in a container with --privileged", err)
	}
	return fmt.Errorf("unshare: %w", err)
}

// enter moves the current thread into namespaces of the process pid: "mnt", "uts", "ipc", "net", or "pid" for its children.
// After "mnt" the root is the root of that site.
func enter(pid int, names ...string) error {
	kinds := map[string]int{
		"mnt": unix.CLONE_NEWNS, "uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "net": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return namespaceError(err)
	}
	// all files are opened first: after "mnt" this /proc is out of sight
	files := make([]*os.File, len(names))
	for i, name := range names {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, name))
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	for i, name := range names {
		if err := unix.Setns(int(files[i].Fd()), kinds[name]); err != nil {
			return fmt.Errorf("enter %s namespace of process %d: %w", name, pid, err)
		}
	}
	return nil
}

// siteNamespaces are all that a site has.
var siteNamespaces = []string{"uts", "ipc", "net", "pid", "mnt"}

func mount(source, target, fstype string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, fstype, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", firstOf(fstype, source), target, err)
	}
	return nil
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

// bind shows a file or directory at a second path, which it makes when it is missing.
func bind(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else {
		err = touch(target)
	}
	if err != nil {
		return err
	}
	return mount(source, target, "", unix.MS_BIND, "")
}

// bindReadOnly is bind, but nothing can be changed through the second path. Sockets behind it take connections.
func bindReadOnly(source, target string) error {
	if err := bind(source, target); err != nil {
		return err
	}
	return mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}
