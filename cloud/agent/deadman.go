package agent

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deadman is a timer of the kernel that kills this process unless it is rearmed in time. An agent
// that is stopped, or hangs, cannot end its jobs when the lease lapses, and the daemon starts them
// elsewhere soon after; with the agent everything ends that it started (see packages keeper and
// steps). The clock goes on while the machine sleeps. The first process of a PID namespace cannot
// be killed this way: the daemon itself ends that of a local machine.
type deadman struct{ id int32 }

// sigevent is struct sigevent of the kernel: a signal to the process.
type sigevent struct {
	value  uintptr
	signo  int32
	notify int32 // 0: SIGEV_SIGNAL
	_      [64]byte
}

func newDeadman() (*deadman, error) {
	d := &deadman{}
	e := sigevent{signo: int32(unix.SIGKILL)}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&e)), uintptr(unsafe.Pointer(&d.id)))
	if errno != 0 {
		return nil, os.NewSyscallError("timer_create", errno)
	}
	return d, nil
}

// set has the process killed after a time; 0: not.
func (d *deadman) set(after time.Duration) error {
	value := unix.NsecToTimespec(int64(after))
	t := struct{ interval, value unix.Timespec }{value: value}
	_, _, errno := unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(d.id), 0, uintptr(unsafe.Pointer(&t)), 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("timer_settime", errno)
	}
	return nil
}

func (d *deadman) close() {
	unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(d.id), 0, 0)
}
