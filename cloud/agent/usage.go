package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

// lookEvery is how often it is looked what a run uses, where only looking tells.
const lookEvery = 10 * time.Second

// meter is what a run's batch script uses: by its cgroup, else by what its processes that have
// ended say of themselves.
type meter struct {
	r     *run
	timer *time.Ticker
	used  agentapi.Used
	gpus  gpuMeter
}

func newMeter(r *run) *meter {
	return &meter{r: r, timer: time.NewTicker(lookEvery), gpus: newGPUMeter(&r.a.table, r.node.GPUs)}
}

func (m *meter) tick() <-chan time.Time { return m.timer.C }

// look notes what only shows while processes live.
func (m *meter) look() {
	if m.r.group.memoryPeak() == 0 {
		m.used.MaxRSS = max(m.used.MaxRSS, m.r.p.Resident())
	}
	m.gpus.look()
}

// last is called when all processes have ended.
func (m *meter) last(u keeper.Usage) {
	m.timer.Stop()
	m.used.User, m.used.System, m.used.Read, m.used.Written = u.User, u.System, u.Read, u.Write
	m.used.MaxRSS = max(m.used.MaxRSS, u.MaxRSS)
	m.r.group.usage(&m.used)
	m.used.MaxNode = m.r.node.Name
	m.gpus.last(&m.used)
}

// batchStep is the batch script as a step. r.mu is held.
func (r *run) batchStep(s agentapi.Status) agentapi.Step {
	b := agentapi.Step{ID: "batch", Name: "batch", State: "RUNNING", Nodes: r.node.Name, Tasks: 1, CPUs: r.node.CPUs, Start: r.begin,
		Mem: r.node.MemMiB, GPUs: len(r.node.GPUs), GPUType: r.node.GPUType}
	select {
	case <-r.p.Done:
		b.End, b.Exit, b.State, b.Used = time.Now().UTC(), int32(r.p.Status), stepState(r.why, r.p), r.used.used
		if r.why == agentapi.WhyMemory {
			b.Exit = memoryExit
		}
	default:
	}
	return b
}

// stepState is how Slurm's accounting calls a batch script's end: by its status, whatever made it end so.
func stepState(why agentapi.Why, p *keeper.Process) string {
	switch {
	case why == agentapi.WhyMemory:
		return "OUT_OF_MEMORY"
	case p.Status == 0:
		return "COMPLETED"
	case p.Status.Signaled():
		return "CANCELLED"
	}
	return "FAILED"
}

// memoryPeak is the most memory that the batch script had at one time, in bytes; 0 where no cgroup tells.
func (c *cgroup) memoryPeak() int64 {
	for _, path := range []string{filepath.Join(c.dir, "batch", "memory.peak"), filepath.Join(c.mem1, "memory.max_usage_in_bytes")} {
		if text, err := os.ReadFile(path); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return n
		}
	}
	return 0
}

// usage is what the cgroup knows better than the processes.
func (c *cgroup) usage(u *agentapi.Used) {
	if peak := c.memoryPeak(); peak > 0 {
		u.MaxRSS = peak
	}
	if c.dir == "" {
		return
	}
	stat := filepath.Join(c.dir, "batch", "cpu.stat")
	if user, system := field(stat, "user_usec"), field(stat, "system_usec"); user+system > 0 {
		u.User, u.System = time.Duration(user)*time.Microsecond, time.Duration(system)*time.Microsecond
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "batch", "io.stat"))
	if err != nil {
		return
	}
	u.Read, u.Written = 0, 0
	for f := range strings.FieldsSeq(string(text)) {
		name, value, _ := strings.Cut(f, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "rbytes":
			u.Read += n
		case "wbytes":
			u.Written += n
		}
	}
}
