package agent

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
)

// cgroups is where the agent may make cgroups: of version 2, or the memory controller of version 1
// where that is what the machine has.
type cgroups struct {
	log  *slog.Logger
	v2   string // "": none
	mem1 string // "": none
}

// newCgroups looks for a place to make cgroups. Without one, runs are held together by their
// keepers, and have no memory limit.
func newCgroups(instance string, log *slog.Logger) *cgroups {
	g := &cgroups{log: log}
	if instance == "" || strings.ContainsRune(instance, '/') {
		instance = rand.Text()
	}
	v2, mem1 := cgroupMounts()
	for _, parent := range parents(v2) {
		if g.v2 = makeOwn(parent, instance); g.v2 != "" {
			for _, d := range []string{parent, filepath.Dir(g.v2), g.v2} {
				delegate(d)
			}
			break
		}
	}
	if mem1 != "" && os.Geteuid() == 0 && !g.has("memory") {
		g.mem1 = makeOwn(mem1, instance)
	}
	log.Info("cgroups", "v2", g.v2, "memory", g.has("memory"), "v1", g.mem1)
	return g
}

// makeOwn makes the agent's cgroup; "": it cannot. A provider of local machines knows it by the
// instance's name, and removes what a killed one leaves. Where the name is taken it takes another:
// two agents in one would kill each other's jobs.
func makeOwn(parent, instance string) string {
	above := filepath.Join(parent, "fsub-agent")
	for range 1000 {
		_ = os.MkdirAll(above, 0o755)
		dir := filepath.Join(above, instance)
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			return dir
		case errors.Is(err, fs.ErrExist):
			instance += "." + rand.Text()
		case !errors.Is(err, fs.ErrNotExist): // if it is that, the last of the other agents has just taken the one above away
			return ""
		}
	}
	return ""
}

// parents are the cgroups in which the agent might make its own: root anywhere, others below the
// one they are in, if it was given to them.
func parents(mount string) []string {
	if mount == "" {
		return nil
	}
	if os.Geteuid() == 0 {
		return []string{mount}
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if own, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return []string{filepath.Join(mount, own)}
		}
	}
	return nil
}

// delegate lets the children of a cgroup have controllers, those that it can.
func delegate(dir string) {
	for _, c := range []string{"+memory", "+cpu", "+cpuset", "+io"} {
		os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(c), 0)
	}
}

func (g *cgroups) has(controller string) bool {
	if g.v2 == "" {
		return false
	}
	text, _ := os.ReadFile(filepath.Join(g.v2, "cgroup.subtree_control"))
	return bytes.Contains(text, []byte(controller))
}

func cgroupMounts() (v2, mem1 string) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, _ := strings.Cut(s.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 {
			continue
		}
		switch {
		case right[0] == "cgroup2":
			v2 = left[4]
		case right[0] == "cgroup" && strings.Contains(","+right[2]+",", ",memory,"):
			mem1 = left[4]
		}
	}
	return v2, mem1
}

func (g *cgroups) close() {
	for _, dir := range []string{g.v2, g.mem1} {
		if dir != "" {
			os.Remove(dir)
			os.Remove(filepath.Dir(dir)) // the last agent of the machine succeeds
		}
	}
}

// cgroup is that of a run. A nil one limits nothing.
type cgroup struct {
	dir   string   // version 2: has the limits; batch and steps are below it
	steps *os.File // the directory of steps
	mem1  string   // version 1
}

// add makes the cgroup of a run, as far as the machine has any.
func (g *cgroups) add(r *run) *cgroup {
	c := &cgroup{}
	limit := strconv.FormatInt(r.node.MemMiB<<20, 10)
	if g.v2 != "" {
		c.dir = filepath.Join(g.v2, r.l.Run)
		if err := os.MkdirAll(c.dir, 0o755); err != nil {
			g.log.Warn("no cgroup", "run", r.l.Run, "err", err)
			c.dir = ""
		} else {
			c.limit(r.node, limit)
		}
	}
	if g.mem1 != "" && r.node.MemMiB > 0 {
		c.mem1 = filepath.Join(g.mem1, r.l.Run)
		if err := os.MkdirAll(c.mem1, 0o755); err != nil {
			g.log.Warn("no memory limit", "run", r.l.Run, "err", err)
			c.mem1 = ""
		} else {
			os.WriteFile(filepath.Join(c.mem1, "memory.limit_in_bytes"), []byte(limit), 0)
			os.WriteFile(filepath.Join(c.mem1, "memory.memsw.limit_in_bytes"), []byte(limit), 0)
		}
	}
	return c
}

// limit sets what the run may use, as far as the controllers are there.
func (c *cgroup) limit(n agentapi.Node, memory string) {
	delegate(c.dir)
	if n.MemMiB > 0 {
		c.set("memory.max", memory)
		c.set("memory.swap.max", "0")
	}
	if n.CPUIDs != nil {
		var ids []string
		for _, id := range n.CPUIDs {
			ids = append(ids, strconv.Itoa(id))
		}
		c.set("cpuset.cpus", strings.Join(ids, ","))
	}
	for _, leaf := range []string{"batch", "steps"} {
		os.Mkdir(filepath.Join(c.dir, leaf), 0o755)
	}
	c.steps, _ = os.Open(filepath.Join(c.dir, "steps"))
}

func (c *cgroup) set(file, value string) {
	os.WriteFile(filepath.Join(c.dir, file), []byte(value), 0)
}

// forBatch is where the batch script starts.
func (c *cgroup) forBatch() (dir string, tasks []string) {
	if c.dir != "" {
		dir = filepath.Join(c.dir, "batch")
	}
	if c.mem1 != "" {
		tasks = []string{filepath.Join(c.mem1, "tasks")}
	}
	return dir, tasks
}

// forSteps puts a step daemon, and so its tasks, into the run's cgroup. nil: cgroup version 2 is missing.
func (c *cgroup) forSteps() func(*exec.Cmd) {
	if c.steps == nil {
		return nil
	}
	return func(cmd *exec.Cmd) { cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(c.steps.Fd()) }
}

// joinSteps are the files by which a step daemon gets into cgroups of version 1.
func (c *cgroup) joinSteps() []string {
	if c == nil || c.mem1 == "" {
		return nil
	}
	return []string{filepath.Join(c.mem1, "cgroup.procs")}
}

// oomKills is how many processes of the run the kernel has killed at the memory limit.
func (c *cgroup) oomKills() int {
	if c == nil {
		return 0
	}
	return field(filepath.Join(c.dir, "memory.events"), "oom_kill") + field(filepath.Join(c.mem1, "memory.oom_control"), "oom_kill")
}

// field is the number behind a name in a file of cgroups; 0 where there is none.
func field(path, name string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// remove takes the cgroup away. What still lives in it is killed.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	if c.steps != nil {
		c.steps.Close()
	}
	dirs := []string{c.mem1}
	if c.dir != "" {
		c.set("cgroup.kill", "1")
		dirs = append(dirs, filepath.Join(c.dir, "batch"), filepath.Join(c.dir, "steps"), c.dir)
	}
	for _, dir := range dirs {
		for wait := time.Millisecond; dir != "" && wait < time.Second; wait *= 2 { // a dead process leaves some moments later
			if err := syscall.Rmdir(dir); err != syscall.EBUSY {
				break
			}
			time.Sleep(wait)
		}
	}
}
