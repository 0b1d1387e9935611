package restd

import (
	"fmt"
	"strings"
	"time"

	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// setMore shows the rarer options of a job.
func setMore(w *wire.Job, sp *sbatch.Spec, d *demand.Demand) {
	if n := d.Count("gpu", demand.PerTask); n > 0 {
		w.TRESBind = fmt.Sprintf("gres/gpu:per_task:%d", n)
	}
	for _, g := range d.GRES {
		if g.Per == demand.PerTask { // here the number stands behind an equals sign
			w.TRESPerTask = words.Joined(w.TRESPerTask, fmt.Sprintf("gres/%s=%d", g, g.Count))
		}
	}
	if sp.CPUsPerTask > 0 {
		w.TRESPerTask = words.Joined(fmt.Sprintf("cpu=%d", sp.CPUsPerTask), w.TRESPerTask)
	}
	m := sp.More
	if m == nil {
		return
	}
	sockets, cores, threads, tasksPerCore := m.Layout()
	for _, f := range []struct {
		field *wire.Number
		n     int
	}{{&w.SocketsPerNode, sockets}, {&w.CoresPerSocket, cores}, {&w.ThreadsPerCore, threads}, {&w.TasksPerCore, tasksPerCore}} {
		if f.n > 0 {
			*f.field = wire.Num(int64(f.n))
		}
	}
	w.DelayBoot = wire.Num(int64(m.DelayBoot / time.Second))
	if m.Profile != "" {
		w.Profile = words.Profile(m)
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
