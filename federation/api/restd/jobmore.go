package restd

import (
	"fmt"
	"strings"
	"time"

	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/wire"
)

// setMore shows the rarer options of a job.
func setMore(w *wire.Job, sp *sbatch.Spec, d *demand.Demand) {
	if n := d.Count("gpu", demand.PerTask); n > 0 {
		w.TRESBind = fmt.Sprintf("gres/gpu:per_task:%d", n)
	}
	for _, g := range d.GRES {
		if g.Per == demand.PerTask { // here the number stands behind an equals sign
			w.TRESPerTask = joinText(w.TRESPerTask, fmt.Sprintf("gres/%s=%d", g, g.Count))
		}
	}
	if sp.CPUsPerTask > 0 {
		w.TRESPerTask = joinText(fmt.Sprintf("cpu=%d", sp.CPUsPerTask), w.TRESPerTask)
	}
	m := sp.More
	if m == nil {
		return
	}
	sockets, cores, threads, tasksPerCore := m.Layout()
	for _, f := range []struct {
		field *wire.Number
		n     int
	}{{&w.SocketsPerNode, sockets}, {&w.CoresPerSocket, cores}, {&w.ThreadsPerCore, threads}, {&w.TasksPerCore, tasksPerCore},
		{&w.TasksPerSocket, m.NTasksPerSocket}, {&w.TasksPerTRES, m.NTasksPerTRES}, {&w.MinTmpDiskPerNode, int(m.TmpDisk)}} {
		if f.n > 0 {
			*f.field = wire.Num(int64(f.n))
		}
	}
	if m.MinCPUs > 0 {
		w.MinCPUsPerNode = wire.Num(int64(m.MinCPUs))
	}
	w.CoreSpec, w.ThreadSpec, w.SegmentSize = int64(m.CoreSpec), int64(m.ThreadSpec), int64(m.Segment)
	w.Licenses, w.Network, w.Prefer, w.BatchFeatures, w.BurstBuffer = m.Licenses, m.Network, m.Prefer, m.Batch, m.BurstBuffer
	w.Contiguous, w.DelayBoot = m.Contiguous, wire.Num(int64(m.DelayBoot/time.Second))
	w.WCKey, w.Extra, w.MCSLabel, w.SELinuxContext = m.WCKey, m.Extra, m.MCSLabel, m.Context
	w.Container, w.ContainerID = m.Container, m.ContainerID
	if m.GPUFreq != "" {
		w.TRESFreq = "gpu:" + m.GPUFreq
	}
	if m.Profile != "" {
		w.Profile = strings.Split(strings.ToUpper(m.Profile), ",")
	}
	w.TRESPerSocket = gres.Prefixed("gres/gpu:", m.GPUsPerSocket)
	if m.CPUsPerGPU > 0 {
		w.CPUsPerTRES = fmt.Sprintf("gres/gpu:%d", m.CPUsPerGPU)
	}
	if m.TRESBind != "" {
		w.TRESBind = m.TRESBind
	}
}

// gresDetail is what a job that runs has on each of its nodes, without saying which of them.
func gresDetail(w *wire.Job, z Size) wire.Strings {
	if w.JobResources == nil || len(z.GRES) == 0 {
		return nil
	}
	nodes := max(len(w.JobResources.Nodes.Allocation), 1)
	var items []string
	for _, g := range z.GRES {
		items = append(items, fmt.Sprintf("%s:%d", g, g.Count/nodes))
	}
	list := make(wire.Strings, nodes)
	for i := range list {
		list[i] = strings.Join(items, ",")
	}
	return list
}
