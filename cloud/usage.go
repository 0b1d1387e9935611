package cloud

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/federation/usage"
)

// Measured implements driver.Measurer: what the agents have told of the steps of jobs that have ended.
func (d *Driver) Measured(ctx context.Context, refs []federation.JobRef) (map[federation.JobID][]usage.Usage, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	out := map[federation.JobID][]usage.Usage{}
	for _, ref := range refs {
		r, err := d.jobs.ended(ctx, ref)
		if err != nil {
			return nil, err
		}
		if r != nil {
			out[ref.ID] = []usage.Usage{usageOf(ref.ID, r)}
		}
	}
	return out, nil
}

// ended is the record of a job that has ended; nil: it has not, or is not known.
func (js *jobTable) ended(ctx context.Context, ref federation.JobRef) (*jobRecord, error) {
	js.mu.Lock()
	j := js.byID[ref.ID]
	if j != nil && (ref.Key == "" || j.Key == ref.Key) {
		defer js.mu.Unlock()
		if j.End.IsZero() {
			return nil, nil
		}
		r := j.jobRecord // an ended record is not changed any more
		return &r, nil
	}
	js.mu.Unlock()
	r, err := js.recorded(ctx, ref)
	if errors.Is(err, federation.ErrNotFound) {
		return nil, nil
	}
	return r, err
}

func usageOf(id federation.JobID, r *jobRecord) usage.Usage {
	u := usage.Usage{Job: id, Index: -1}
	for i := range r.Steps {
		s := stepOf(&r.Steps[i])
		u.User += s.User
		u.System += s.System
		u.Steps = append(u.Steps, s)
	}
	u.Total = u.User + u.System
	if r.Run != nil {
		u.Allocated = allocatedIn(r.Run.part(0).TRES)
		u.Requested = u.Allocated
	}
	return u
}

// allocatedIn reads the TRES of a job.
func allocatedIn(text string) (list []usage.Amount) {
	tres, err := accounting.ParseTRES(text)
	if err != nil {
		return nil // the records then show what was asked for
	}
	for _, name := range slices.Sorted(maps.Keys(tres)) {
		kind, rest, _ := strings.Cut(name, "/")
		list = append(list, usage.Amount{Type: kind, Name: rest, Count: tres[name]})
	}
	return list
}

// allocatedTo is what a step had, in Slurm's order.
func allocatedTo(s *agentapi.Step, nodes int) []usage.Amount {
	list := []usage.Amount{{Type: "cpu", Count: int64(s.CPUs)}}
	if s.Mem > 0 {
		list = append(list, usage.Amount{Type: "mem", Count: s.Mem})
	}
	list = append(list, usage.Amount{Type: "node", Count: int64(nodes)})
	if s.GPUs > 0 {
		list = append(list, usage.Amount{Type: "gres", Name: "gpu", Count: int64(s.GPUs)})
		if s.GPUType != "" {
			list = append(list, usage.Amount{Type: "gres", Name: "gpu:" + s.GPUType, Count: int64(s.GPUs)})
		}
	}
	return list
}

// stepOf is a step in the federation's words. What one node used most of stands for the task that used most.
func stepOf(s *agentapi.Step) usage.Step {
	out := usage.Step{ID: s.ID, Name: s.Name, State: federation.State(s.State), ExitStatus: s.Exit, Nodes: s.Nodes, NumNodes: nodeCount(s.Nodes),
		NumTasks: s.Tasks, Start: s.Start, End: s.End, Layout: cmp.Or(s.Layout, "Unknown"),
		System: s.Used.System, User: s.Used.User, Total: s.Used.System + s.Used.User, Suspended: s.Suspended}
	if s.CancelledBy != nil {
		out.KilledBy = strconv.FormatUint(uint64(*s.CancelledBy), 10)
	}
	if s.End.After(s.Start) { // Slurm keeps whole seconds
		out.Elapsed = time.Duration(s.End.Unix()-s.Start.Unix()) * time.Second
		out.Elapsed -= min(s.Suspended.Truncate(time.Second), out.Elapsed)
	}
	out.Allocated = allocatedTo(s, out.NumNodes)
	in := &out.In
	in.Total = []usage.Amount{{Type: "cpu", Count: out.Total.Milliseconds()}}
	most := func(kind, name string, n, all int64) {
		if n > 0 {
			in.Max = append(in.Max, usage.TaskAmount{Amount: usage.Amount{Type: kind, Name: name, Count: n}, Node: s.Used.MaxNode, Task: int64(s.Used.MaxTask)})
			in.Total = append(in.Total, usage.Amount{Type: kind, Name: name, Count: all})
			in.Average = append(in.Average, usage.Amount{Type: kind, Name: name, Count: all / int64(max(s.Tasks, 1))})
		}
	}
	most("mem", "", s.Used.MaxRSS, cmp.Or(s.Used.RSS, s.Used.MaxRSS*int64(max(s.Tasks, 1))))
	most("gres", "gpumem", s.Used.GPUMem, s.Used.GPUMem)
	most("gres", "gpuutil", int64(s.Used.GPUUtil), int64(s.Used.GPUUtil))
	if s.Used.Read > 0 {
		in.Total = append(in.Total, usage.Amount{Type: "fs", Name: "disk", Count: s.Used.Read})
	}
	if s.Used.Written > 0 {
		out.Out.Total = []usage.Amount{{Type: "fs", Name: "disk", Count: s.Used.Written}}
	}
	return out
}
