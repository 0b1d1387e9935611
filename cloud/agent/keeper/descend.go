package keeper

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// killAll kills every descendant of this process, and those that are forked meanwhile, over and
// over: it does not return. That there are none left is for wait to see.
func killAll(cgroup string) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if cgroup != "" {
			os.WriteFile(filepath.Join(cgroup, "cgroup.kill"), []byte("1"), 0)
		}
		pids := descendants(os.Getpid())
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGSTOP) // they do not fork any more
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(wait)
	}
}

// descendants are all processes below root, ended ones that nobody has waited for among them. One
// that comes or goes meanwhile may be missing.
func descendants(root int) []int {
	list := Children(root)
	for i := 0; i < len(list); i++ {
		list = append(list, Children(list[i])...)
	}
	return list
}

// Children are the processes whose parent is pid.
func Children(pid int) (list []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range threads {
		text, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if errors.Is(err, os.ErrNotExist) && t.Name() == strconv.Itoa(pid) { // a kernel without CONFIG_PROC_CHILDREN
			return childrenOf(pid)
		}
		for _, f := range bytes.Fields(text) {
			if child, err := strconv.Atoi(string(f)); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// childrenOf looks through all processes.
func childrenOf(pid int) (list []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if child, err := strconv.Atoi(e.Name()); err == nil {
			if of, _ := Parent(child); of == pid {
				list = append(list, child)
			}
		}
	}
	return list
}

// Parent returns the parent of a process and its state; 0 if there is no such process.
func Parent(pid int) (ppid int, state byte) {
	f := stat(pid)
	if len(f) < 2 {
		return -1, 0
	}
	ppid, _ = strconv.Atoi(string(f[1]))
	return ppid, f[0][0]
}

// begun is when a process began, in ticks since the machine did; "" if there is no such process.
func begun(pid int) string {
	if f := stat(pid); len(f) > 19 {
		return string(f[19])
	}
	return ""
}

// stat are the fields of /proc/PID/stat from the third on, the state (proc_pid_stat(5)); nil if there is no such process.
func stat(pid int) [][]byte {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // the name between the parentheses may hold anything
}
