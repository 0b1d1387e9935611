package steps

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// past is a deadline that is over.
var past = time.Unix(1, 0)

func digits(n int) string { return strconv.Itoa(n) }

// killAll sends a signal to everything that descends from this process.
func killAll(sig syscall.Signal) {
	for _, pid := range descendants(os.Getpid()) {
		syscall.Kill(pid, sig)
	}
}

// descendants are the processes below pid, parents first.
func descendants(pid int) []int {
	found := children(pid)
	for i := 0; i < len(found); i++ {
		found = append(found, children(found[i])...)
	}
	return found
}

// children reads /proc/PID/task/*/children.
func children(pid int) (found []int) {
	dir := "/proc/" + digits(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range threads {
		text, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				found = append(found, n)
			}
		}
	}
	return found
}

// oomKills is how often the kernel has killed for want of memory in this process's cgroup, which is the run's; 0 where that cannot be known.
func oomKills() int {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(line, "0::")
		if !ok {
			continue
		}
		events, err := os.ReadFile("/sys/fs/cgroup" + strings.TrimSpace(path) + "/memory.events")
		if err != nil {
			return 0
		}
		for line := range strings.Lines(string(events)) {
			if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(count))
				return n
			}
		}
	}
	return 0
}

// errnoWords is strerror's text: Go's, with the C library's capital.
func errnoWords(n syscall.Errno) string {
	text := n.Error()
	switch n {
	case unix.ENOEXEC:
		return "Exec format error"
	case unix.E2BIG:
		return "Argument list too long"
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
