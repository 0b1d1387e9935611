package ec2

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// marker is the variable by which processes of a machine without namespaces are found again after their parents are gone.
const marker = "FSUB_EC2_INSTANCE"

// process is a line of the process table.
type process struct {
	pid, parent, session int
	zombie               bool
}

// members returns the processes of the machine.
func (m *machine) members() []int {
	if m.alone {
		return m.inNamespace()
	}
	return m.inSession()
}

func (m *machine) inNamespace() []int {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", m.init.Process.Pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, p := range processes() {
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", p.pid)); err == nil && ns == own {
			out = append(out, p.pid)
		}
	}
	return out
}

// inSession finds the machine's processes: those with the marker, of its session, at work in its directory, and all their descendants.
func (m *machine) inSession() []int {
	all := processes()
	in := map[int]bool{}
	for _, p := range all {
		if p.pid != os.Getpid() && (p.session == m.init.Process.Pid || m.marked(p.pid)) {
			in[p.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], grown = true, true
			}
		}
	}
	var out []int
	for _, p := range all {
		if in[p.pid] && !p.zombie {
			out = append(out, p.pid)
		}
	}
	return out
}

func (m *machine) marked(pid int) bool {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if bytes.Contains(append([]byte{0}, env...), []byte("\x00"+marker+"="+m.spec.ID+"\x00")) {
		return true
	}
	cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return strings.HasPrefix(cwd+"/", m.spec.Dir+"/")
}

// endSession ends the processes one finds, until one finds none.
func (m *machine) endSession(grace time.Duration) error {
	deadline := time.Now().Add(grace)
	for _, pid := range m.members() {
		if grace > 0 {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	for time.Now().Before(deadline) && len(m.members()) > 0 {
		select {
		case <-m.spec.Closed:
			deadline = time.Now()
		case <-time.After(20 * time.Millisecond):
		}
	}
	for range 200 {
		left := m.members()
		if len(left) == 0 {
			return nil
		}
		for _, pid := range left { // all stopped first, so that none is left to fork
			syscall.Kill(pid, syscall.SIGSTOP)
		}
		for _, pid := range m.members() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("processes of instance %s cannot be ended: %v", m.spec.ID, m.members())
}

// processes reads the process table.
func processes() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []process
	for _, dir := range dirs {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the command's name before it may hold anything
		if len(f) < 4 {
			continue
		}
		p := process{zombie: f[0] == "Z"}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(f[1])
		p.session, _ = strconv.Atoi(f[3])
		out = append(out, p)
	}
	return out
}
