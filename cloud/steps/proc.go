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

// oomKills is how often the kernel has killed for want of memory in this process's cgroups, which
// are the run's; 0 where that cannot be known.
func oomKills() (n int) {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) < 3 || f[2] == "/":
		case f[1] == "":
			n += oomCount("/sys/fs/cgroup" + f[2] + "/memory.events")
		case f[1] == "memory":
			n += oomCount("/sys/fs/cgroup/memory" + f[2] + "/memory.oom_control")
		}
	}
	return n
}

func oomCount(file string) (n int) {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return n
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
