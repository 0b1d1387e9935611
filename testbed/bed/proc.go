package bed

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// procID names one process forever: a PID alone is given out again.
type procID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // field 22 of /proc/PID/stat, clock ticks since boot
	Boot  string `json:"boot"`  // the boot that those ticks count from
}

// identify returns the procID of a running process.
func identify(pid int) (procID, error) {
	start, err := startTime(pid)
	if err != nil {
		return procID{}, err
	}
	boot, err := bootID()
	return procID{PID: pid, Start: start, Boot: boot}, err
}

// alive reports whether that very process still runs. A zombie does not, nor does a process that is ending: the first process of
// a pid namespace may be ending for long.
func (p procID) alive() bool {
	if p.PID <= 0 {
		return false
	}
	boot, err := bootID()
	if err != nil || boot != p.Boot {
		return false
	}
	start, err := startTime(p.PID)
	if err != nil || start != p.Start {
		return false
	}
	_, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", p.PID))
	return !errors.Is(err, os.ErrNotExist)
}

// gone reports whether nothing is left of that process. Until then a thread of it may hold a port, even when the process shows as a zombie.
func (p procID) gone() bool {
	start, _, err := readStat(p.PID)
	return err != nil || start != p.Start
}

// startedAt is the wall clock time at which p started.
func (p procID) startedAt() time.Time {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return time.Time{}
	}
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux that Go runs on
	return time.Now().Add(time.Duration(p.Start)*time.Second/ticksPerSecond - time.Duration(now.Nano())).UTC()
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// startTime reads when a process started. A zombie counts as gone.
func startTime(pid int) (uint64, error) {
	start, state, err := readStat(pid)
	if err == nil && (state == "Z" || state == "X") {
		err = os.ErrNotExist
	}
	return start, err
}

// readStat reads a process's start time and state letter.
func readStat(pid int) (start uint64, state string, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", err
	}
	// the command name may hold blanks and parentheses: fields count from the last ")"
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 20 {
		return 0, "", os.ErrNotExist
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, fields[0], err
}

// process is one process of a site, seen from the host.
type process struct {
	pid  int
	argv []string // empty while it changes from one program to another
}

// processesOf lists the living processes in the pid namespace of which init is the first process.
func processesOf(init procID) ([]process, error) {
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", init.PID))
	if err != nil {
		return nil, err
	}
	return processes(func(p process) bool {
		in, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.pid))
		return err == nil && in == ns
	})
}

// processes lists the machine's living processes that pass a test.
func processes(pass func(process) bool) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		p := process{pid: pid}
		if len(cmdline) > 0 {
			p.argv = strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		} else if _, err := startTime(pid); err != nil {
			continue // gone, or a zombie
		}
		if pass(p) {
			found = append(found, p)
		}
	}
	return found, nil
}

// signal sends sig to a process; one that is gone already is not an error.
func signal(pid int, sig unix.Signal) error {
	if err := unix.Kill(pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %v to process %d: %w", sig, pid, err)
	}
	return nil
}
