package keeper

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// killAll kills every descendant of this process, and those that are forked meanwhile, until all are dead.
func killAll(cgroup string) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if cgroup != "" {
			os.WriteFile(filepath.Join(cgroup, "cgroup.kill"), []byte("1"), 0)
		}
		alive := 0
		pids := descendants(os.Getpid())
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGSTOP) // they do not fork any more
		}
		for _, pid := range pids {
			if syscall.Kill(pid, syscall.SIGKILL) == nil && !zombie(pid) {
				alive++
			}
		}
		if alive == 0 {
			return // the dead are collected by wait
		}
		time.Sleep(wait)
	}
}

func zombie(pid int) bool {
	_, state := parent(pid)
	return state == 'Z' || state == 'X' || state == 0
}

// descendants are all processes below root, ended ones that nobody has waited for among them.
func descendants(root int) []int {
	pids, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range pids {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			of, _ := parent(pid)
			children[of] = append(children[of], pid)
		}
	}
	list := children[root]
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

// parent is the parent of a process, and its state: 0 if there is no such process.
func parent(pid int) (ppid int, state byte) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return -1, 0
	}
	// The name between the parentheses may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return -1, 0
	}
	ppid, _ = strconv.Atoi(string(fields[1]))
	return ppid, fields[0][0]
}
