package agent

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"fsub/cloud/agent/keeper"
	"fsub/cloud/agentapi"
)

// uses are the runs of the machine whose use of it is told.
type uses struct {
	mu   sync.Mutex
	runs map[string]*gauge
}

// gauge measures how busy a run keeps its part of the machine.
type gauge struct {
	group *cgroup
	p     *keeper.Process // nil: the script runs on another machine
	steps *runSteps
	cpus  int
	gpus  []int

	sum   float64 // of the looks at its GPUs since it was told last, each their average in percent
	looks int
	blind bool // a look had no answer
}

// add begins to measure a run, which has just begun. Its group, process and steps do not change any more.
func (u *uses) add(r *run) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.runs == nil {
		u.runs = map[string]*gauge{}
	}
	u.runs[r.l.Run] = &gauge{group: r.group, p: r.p, steps: &r.steps, cpus: r.node.CPUs, gpus: r.node.GPUs}
}

func (u *uses) drop(run string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.runs, run)
}

// look looks at the GPUs of those runs that have any.
func (u *uses) look(t *gpuTable) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, g := range u.runs {
		if len(g.gpus) > 0 {
			g.look(t.rows())
		}
	}
}

func (g *gauge) look(rows [][]string) {
	util := map[int]float64{}
	for _, row := range rows {
		index, bad := strconv.Atoi(row[0])
		percent, err := strconv.ParseFloat(row[1], 64) // a GPU that is divided (MIG) has none
		if bad == nil && err == nil {
			util[index] = percent
		}
	}
	var sum float64
	for _, index := range g.gpus {
		percent, ok := util[index]
		if !ok {
			g.blind = true
			return
		}
		sum += percent
	}
	g.sum, g.looks = g.sum+sum/float64(len(g.gpus)), g.looks+1
}

// read returns the readings of all runs, and begins the next ones.
func (u *uses) read() (list []agentapi.InUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, run := range slices.Sorted(maps.Keys(u.runs)) {
		g := u.runs[run]
		one := agentapi.InUse{Run: run, CPU: g.cpuTime(), CPUs: g.cpus, GPUs: len(g.gpus)}
		if g.looks > 0 && !g.blind {
			percent := g.sum / float64(g.looks)
			one.GPU = &percent
		}
		g.sum, g.looks, g.blind = 0, 0, false
		list = append(list, one)
	}
	return list
}

// cpuTime is what the run's processes have used by its cgroup, else by what lives of them.
func (g *gauge) cpuTime() (sum time.Duration) {
	if g.group != nil && g.group.dir != "" {
		if used := field(filepath.Join(g.group.dir, "cpu.stat"), "usage_usec"); used > 0 {
			return time.Duration(used) * time.Microsecond
		}
	}
	if g.p != nil {
		sum = g.p.CPUTime()
	}
	for _, pid := range g.steps.processes() {
		sum += keeper.CPUTime(pid)
	}
	return sum
}

// watchUse tells the daemon how busy the runs are, if it has asked for that.
func (a *Agent) watchUse(ctx context.Context) {
	every := a.welcome.Use
	if every <= 0 {
		return
	}
	looks := time.NewTicker(min(lookEvery, every))
	defer looks.Stop()
	for next := time.Now().Add(every); ; {
		select {
		case <-looks.C:
		case <-ctx.Done():
			return
		}
		a.uses.look(&a.table)
		if now := time.Now(); !now.Before(next) {
			next = now.Add(every)
			if list := a.uses.read(); len(list) > 0 {
				a.news.tellUse(list)
			}
		}
	}
}
