package cloud

import (
	"context"
	"slices"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/idle"
)

// inUse is what an agent told last of the use that its runs make of the machine.
type inUse struct {
	at time.Time
	of []agentapi.InUse
}

// Use implements driver.UseTeller from what the agents told last. Of a gang all machines must have.
func (d *Driver) Use(_ context.Context, jobs []driver.Running) (map[federation.JobID]idle.Use, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[federation.JobID]idle.Use{}
	for _, ref := range jobs {
		j := d.jobs.byID[ref.ID]
		if j == nil || j.run == nil || j.run.End != nil || ref.Key != "" && j.Key != ref.Key {
			continue
		}
		if u, ok := j.run.use(); ok {
			out[ref.ID] = u
		}
	}
	return out, nil
}

// use is how busy a run keeps its machines. It is as old as the oldest of their readings.
func (r *run) use() (u idle.Use, ok bool) {
	u.KnowsCPU, u.KnowsGPU = true, true
	for _, m := range r.machines {
		k := slices.IndexFunc(m.busy.of, func(one agentapi.InUse) bool { return one.Run == r.ID })
		if k < 0 {
			return idle.Use{}, false
		}
		one := &m.busy.of[k]
		if u.At.IsZero() || m.busy.at.Before(u.At) {
			u.At = m.busy.at
		}
		u.CPUs, u.CPUTime, u.GPUs = u.CPUs+one.CPUs, u.CPUTime+one.CPU, u.GPUs+one.GPUs
		switch {
		case one.GPU != nil:
			u.GPU += *one.GPU * float64(one.GPUs)
		case one.GPUs > 0:
			u.KnowsGPU = false
		}
	}
	if u.GPUs == 0 {
		u.KnowsGPU = false
		return u, true
	}
	u.GPU /= float64(u.GPUs)
	return u, true
}
