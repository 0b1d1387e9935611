package steps

import (
	"syscall"
	"unsafe"
	_ "unsafe" // for linkname

	"golang.org/x/sys/unix"
)

// A task's own number stands in its environment (SLURM_TASK_PID), so it must be known between fork
// and exec; package syscall has no room for that, nor for a binding to CPUs. So this is the fork of
// package syscall, with these two; gVisor and others use the same three functions of the runtime.

//go:linkname runtimeBeforeFork syscall.runtime_BeforeFork
func runtimeBeforeFork()

//go:linkname runtimeAfterFork syscall.runtime_AfterFork
func runtimeAfterFork()

//go:linkname runtimeAfterForkInChild syscall.runtime_AfterForkInChild
func runtimeAfterForkInChild()

// child is a process to start, in the form that the kernel wants: after the fork nothing may be allocated.
type child struct {
	path *byte
	argv []*byte
	envv []*byte
	pid  []byte // where its number goes: digits and a NUL, within envv; nil: nowhere
	fds  [3]int // its stdin, stdout, stderr; all of them above 2
	keep int    // a file of the parent that it has by the same number; 0: none
	tty  bool   // fds[0] becomes its controlling terminal
	cpus *unix.CPUSet
	// limits are set in the child only: the daemon itself needs more files than a task may have.
	limits []rlimit
	own    []int   // files to close in the parent once it runs
	spaces []int   // namespaces that it enters; then
	dir    *byte   // it goes to this folder, and
	paths  []*byte // executes the first of these that is there, instead of path
}

// open opens a file for the child.
func (c *child) open(name string, flags int) (int, error) {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0)
	if err == nil {
		c.own = append(c.own, fd)
	}
	return fd, err
}

type rlimit struct {
	resource uintptr
	value    syscall.Rlimit
}

const pidVariable = "SLURM_TASK_PID="

// set says what it executes.
func (c *child) set(path string, argv, env []string) (err error) {
	if c.path, err = syscall.BytePtrFromString(path); err != nil {
		return err
	}
	if c.argv, err = syscall.SlicePtrFromStrings(argv); err != nil {
		return err
	}
	if c.envv, err = syscall.SlicePtrFromStrings(env); err != nil {
		return err
	}
	for i, e := range env {
		if len(e) >= len(pidVariable) && e[:len(pidVariable)] == pidVariable {
			b := make([]byte, len(pidVariable)+12)
			copy(b, pidVariable)
			c.envv[i], c.pid = &b[0], b[len(pidVariable):]
		}
	}
	return nil
}

// start forks and executes. An error is execve's, or fork's.
func (c *child) start() (pid int, err error) {
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		return 0, err
	}
	syscall.ForkLock.Lock()
	pid, errno := c.fork(p[1])
	syscall.ForkLock.Unlock()
	syscall.Close(p[1])
	defer syscall.Close(p[0])
	if errno != 0 {
		return 0, errno
	}
	var buf [8]byte
	for {
		n, err := syscall.Read(p[0], buf[:])
		if err == syscall.EINTR {
			continue
		}
		if n == len(buf) {
			var status syscall.WaitStatus
			for {
				if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
					break
				}
			}
			return 0, syscall.Errno(*(*uint64)(unsafe.Pointer(&buf[0])))
		}
		return pid, nil
	}
}

// fork is start's heart. CLONE_VFORK: the child runs first, and the parent copies no page meanwhile. In the child it must not allocate, grow the
// stack much or call anything but the kernel.
//
//go:noinline
//go:norace
//go:nocheckptr
func (c *child) fork(report int) (pid int, errno syscall.Errno) {
	var (
		r1     uintptr
		err1   syscall.Errno
		text   [12]byte
		n, k   int
		failed uint64
	)
	path, argv, envv := uintptr(unsafe.Pointer(c.path)), uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.envv[0]))
	fds, tty, cpus, number, limits, keep := c.fds, c.tty, uintptr(unsafe.Pointer(c.cpus)), c.pid, c.limits, uintptr(c.keep)
	spaces, dir, paths := c.spaces, uintptr(unsafe.Pointer(c.dir)), c.paths
	runtimeBeforeFork()
	r1, _, err1 = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD)|unix.CLONE_VFORK, 0, 0, 0, 0, 0)
	if err1 != 0 || r1 != 0 {
		runtimeAfterFork()
		return int(r1), err1
	}
	runtimeAfterForkInChild()
	if tty {
		_, _, err1 = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	} else {
		_, _, err1 = syscall.RawSyscall(syscall.SYS_SETPGID, 0, 0, 0)
	}
	if err1 != 0 {
		goto fail
	}
	if tty {
		if _, _, err1 = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fds[0]), syscall.TIOCSCTTY, 0); err1 != 0 {
			goto fail
		}
	}
	if cpus != 0 { // best effort: a CPU may have gone
		syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(unix.CPUSet{}), cpus)
	}
	if number != nil {
		r1, _, _ = syscall.RawSyscall(syscall.SYS_GETPID, 0, 0, 0)
		for r1 > 0 {
			text[n] = byte('0' + r1%10)
			r1 /= 10
			n++
		}
		for k = 0; k < n; k++ {
			number[k] = text[n-1-k]
		}
		number[n] = 0
	}
	for k = 0; k < 3; k++ {
		if _, _, err1 = syscall.RawSyscall(syscall.SYS_DUP3, uintptr(fds[k]), uintptr(k), 0); err1 != 0 {
			goto fail
		}
	}
	if keep != 0 {
		if _, _, err1 = syscall.RawSyscall(syscall.SYS_FCNTL, keep, syscall.F_SETFD, 0); err1 != 0 {
			goto fail
		}
	}
	for k = range limits { // best effort
		syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, limits[k].resource, uintptr(unsafe.Pointer(&limits[k].value)), 0, 0, 0)
	}
	for k = range spaces {
		if _, _, err1 = syscall.RawSyscall(unix.SYS_SETNS, uintptr(spaces[k]), 0, 0); err1 != 0 {
			goto fail
		}
	}
	if dir != 0 {
		if _, _, err1 = syscall.RawSyscall(syscall.SYS_CHDIR, dir, 0, 0); err1 != 0 {
			goto fail
		}
	}
	for k = 0; k+1 < len(paths); k++ { // the last is a nil pointer
		_, _, err1 = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(paths[k])), argv, envv)
		if err1 != syscall.ENOENT && err1 != syscall.ENOTDIR && err1 != syscall.EACCES {
			goto fail
		}
	}
	if len(paths) == 0 {
		_, _, err1 = syscall.RawSyscall(syscall.SYS_EXECVE, path, argv, envv)
	}
fail:
	failed = uint64(err1)
	syscall.RawSyscall(syscall.SYS_WRITE, uintptr(report), uintptr(unsafe.Pointer(&failed)), 8)
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 253, 0, 0)
	}
}

// cpuSet is the set of these CPUs, nil for none.
func cpuSet(cpus []int) *unix.CPUSet {
	if len(cpus) == 0 {
		return nil
	}
	s := &unix.CPUSet{}
	for _, c := range cpus {
		s.Set(c)
	}
	return s
}
