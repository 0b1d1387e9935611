package ec2

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// members returns the processes of the machine: those in its PID namespace.
func (m *machine) members() []int {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", m.init.Process.Pid))
	if err != nil {
		return nil
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []int
	for _, dir := range dirs {
		if ns, err := os.Readlink(dir + "/ns/pid"); err == nil && ns == own {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			out = append(out, pid)
		}
	}
	return out
}
