package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process names a process beyond the life of its number: with its start, in clock ticks since the
// boot of the machine, and which boot that was.
type Process struct {
	PID   int
	Start uint64
	Boot  string
}

func (p Process) String() string { return fmt.Sprintf("%d %d %s", p.PID, p.Start, p.Boot) }

// ParseProcess reads what String has written. [Nobody] is the zero Process.
func ParseProcess(s string) (Process, error) {
	var p Process
	if s == Nobody {
		return p, nil
	}
	if _, err := fmt.Sscanf(s, "%d %d %s", &p.PID, &p.Start, &p.Boot); err != nil {
		return Process{}, fmt.Errorf("%s: %q: %w", ProcessFile, s, err)
	}
	return p, nil
}

// Nobody is what stands in ProcessFile where the machine is not to begin any more.
const Nobody = "nobody"

// ErrClaimed: the machine has a process already, or is not to have one any more.
var ErrClaimed = errors.New("the machine has begun or ended already")

// Claim records which process is the machine of a directory, unless that is known. Of several
// callers one succeeds; so a machine starts at most once, however often it is asked for after a crash.
func Claim(dir, who string) error {
	tmp, err := os.CreateTemp(dir, ".claim-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(who)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	err = os.Link(tmp.Name(), filepath.Join(dir, ProcessFile))
	if errors.Is(err, os.ErrExist) {
		return ErrClaimed
	}
	return err
}

// thisProcess is this process by the host's numbers: /proc is the host's still.
func thisProcess() (Process, error) {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return Process{}, err
	}
	pid, err := strconv.Atoi(self)
	if err != nil {
		return Process{}, err
	}
	return Look(pid)
}

// Look finds out which process has a number now. A zombie is none.
func Look(pid int) (Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, err
	}
	// The name, in parentheses, may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "X" || fields[0] == "Z" && (fields[17] == "0" || fields[17] == "1") {
		return Process{}, unix.ESRCH // a zombie with further threads is one whose end is not over yet: it still kills its PID namespace
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return Process{}, err
	}
	boot, err := bootID()
	return Process{PID: pid, Start: start, Boot: boot}, err
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// Alive reports whether the process still runs.
func (p Process) Alive() bool {
	if p.PID == 0 {
		return false
	}
	now, err := Look(p.PID)
	return err == nil && now == p
}

// Signal sends sig to this process, and never to a later one with its number. It is not an error if
// the process has ended.
func (p Process) Signal(sig unix.Signal) error {
	if p.PID == 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err == nil {
		defer unix.Close(fd)
		if !p.Alive() { // the descriptor may be of a later one
			return nil
		}
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}
