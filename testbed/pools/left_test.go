package pools

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fsub/cloud/provider"
)

// close ends everything and looks for what is left.
func (w *world) close() {
	if w.t.Failed() {
		w.t.Logf("log:\n%s", w.logText)
		logs, _ := filepath.Glob(filepath.Join(w.dir, "pool", "machines", "*", "agent.log"))
		for _, file := range logs {
			text, _ := os.ReadFile(file)
			w.t.Logf("%s:\n%s", file, text)
		}
	}
	w.kill()
	for _, wait := range w.dying {
		wait()
	}
	var ids []provider.InstanceID
	for _, i := range w.list() {
		ids = append(ids, i.ID)
	}
	if err := w.provider.Delete(context.Background(), ids); err != nil {
		w.t.Errorf("delete: %v", err)
	}
	w.nothingLeft()
}

func (w *world) list() []provider.Instance {
	all, err := w.provider.List(context.Background())
	if err != nil {
		w.t.Errorf("list: %v", err)
	}
	return all
}

// nothingLeft looks for processes, mounts, links and directories of machines.
func (w *world) nothingLeft() {
	w.t.Helper()
	if left := processesBelow(w.dir); len(left) > 0 {
		w.t.Errorf("processes left: %s", strings.Join(left, "\n"))
	}
	for _, root := range []string{"/sys/fs/cgroup/unified/fsub-agent", "/sys/fs/cgroup/fsub-agent", "/sys/fs/cgroup/memory/fsub-agent"} {
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if token, _, _ := strings.Cut(e.Name(), "."); w.had(token) {
				w.t.Errorf("cgroup left: %s/%s", root, e.Name())
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "pool", "machines", "*")); len(left) > 0 {
		w.t.Errorf("directories left: %v", left)
	}
	run, _ := filepath.Glob("/run/fsub-agent-*")
	tmp, _ := filepath.Glob("/tmp/fsub-agent-*")
	for _, dir := range append(run, tmp...) {
		if token, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "fsub-agent-"), "."); w.had(token) {
			w.t.Errorf("directory left: %s", dir)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte(w.dir)) {
		w.t.Errorf("mounts left (%v): %s", err, mounts)
	}
}

// had reports whether a gang was the world's.
func (w *world) had(token string) bool {
	_, err := os.Stat(filepath.Join(w.dir, "pool", "gangs", token+".json"))
	return err == nil
}

// processes are those of this test and of what it has started: machines, agents, jobs. Other tests on this machine are nobody's affair.
func (w *world) processes() map[int]bool {
	children := map[int][]int{}
	list := []int{os.Getpid()}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, _ := os.ReadFile(file)
		var state string
		var parent int
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if _, bad := fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent); err != nil || bad != nil {
			continue // it has ended
		}
		children[parent] = append(children[parent], pid)
		if at, err := os.Readlink(filepath.Join(filepath.Dir(file), "cwd")); err == nil && strings.HasPrefix(at, w.dir+"/") {
			list = append(list, pid)
		}
	}
	all := map[int]bool{}
	for len(list) > 0 {
		pid := list[0]
		if list = list[1:]; !all[pid] {
			all[pid] = true
			list = append(list, children[pid]...)
		}
	}
	return all
}

// processesBelow finds processes that work below dir.
func processesBelow(dir string) []string {
	var out []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			out = append(out, filepath.Base(filepath.Dir(link))+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}
