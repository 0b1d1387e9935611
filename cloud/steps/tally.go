package steps

import (
	"strconv"
	"strings"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/cloud/steps/wire"
	"fsub/slurm/hostlist"
)

// tally is what is known of how a step went.
type tally struct {
	exit    uint32       // highest status
	stopped agentapi.Why // why it was ended, if it was
	by      *uint32      // the user who cancelled this step alone
	timeout bool         // of its own
	lost    bool
	oom     bool
	used    agentapi.Used
	end     time.Time
}

// note keeps what a frame from a node says of how the step went.
func (st *step) note(f wire.Frame, node string) {
	if f.Kind != wire.Exits && f.Kind != wire.NodeEnd {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	t := &st.tally
	if f.Kind == wire.Exits {
		exits, _ := wire.JSON[[]wire.Exit](f)
		for _, e := range exits {
			t.exit = worse(t.exit, e.Status)
		}
		return
	}
	used, _ := wire.JSON[wire.NodeUsed](f)
	t.oom = t.oom || used.OOM
	t.used.User += used.User
	t.used.System += used.System
	t.used.Read += used.Read
	t.used.Written += used.Write
	t.used.RSS += used.RSS
	if used.MaxRSS > t.used.MaxRSS {
		t.used.MaxRSS, t.used.MaxNode, t.used.MaxTask = used.MaxRSS, node, used.Rank
	}
}

// worse is the status that a step has of two tasks: the higher exit code, where a signal counts as
// 128 and more.
func worse(a, b uint32) uint32 {
	if code(b) > code(a) {
		return b
	}
	return a
}

func code(status uint32) uint32 {
	if sig := status & 0x7f; sig != 0 {
		return 128 + sig
	}
	return status >> 8 & 0xff
}

// status returns the step's status for the job's records. The caller holds table.mu.
func (st *step) status() agentapi.Step {
	st.mu.Lock()
	defer st.mu.Unlock()
	a := agentapi.Step{
		ID: strconv.FormatUint(uint64(st.id), 10), Name: st.req.Name, State: "RUNNING", Start: st.start, End: st.tally.end,
		Exit: int32(st.tally.exit), Used: st.tally.used, Limit: st.req.Timeout, SrunHost: st.req.Host[:min(len(st.req.Host), maxName)], SrunPID: st.req.PID,
	}
	var names []string
	for i := range st.shares {
		sh := &st.shares[i]
		names = append(names, st.launch.Groups[sh.group].Nodes[sh.node].Name)
		a.Tasks += len(sh.part.Ranks)
		a.CPUs += sh.part.CPUs
		a.Mem += sh.part.Mem
		a.GPUs += sh.part.GPUs
		a.GPUType = st.launch.Groups[sh.group].Nodes[sh.node].GPUType
	}
	a.Nodes, a.Layout = hostlist.Compress(names), st.spread(a.Tasks)
	if st.ended {
		a.State = st.tally.state()
		if a.State == "CANCELLED" {
			a.CancelledBy = st.tally.by
		}
	}
	return a
}

// spread returns the name, in accounting, of the way in which the step's tasks are distributed over its nodes.
func (st *step) spread(tasks int) string {
	ask := &st.req.Parts[0]
	word, _, _ := strings.Cut(ask.Distribution, ",")
	word, _, _ = strings.Cut(word, ":")
	if word, _, _ = strings.Cut(word, "="); word == "" || word == "*" {
		word = layout.Default(ask.Ask, tasks)
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// state is how Slurm's accounting calls a step that is over: by its status, whatever made it end so.
func (t *tally) state() string {
	switch {
	case t.lost && t.stopped == "":
		return "NODE_FAIL"
	case t.oom:
		return "OUT_OF_MEMORY"
	case t.timeout:
		return "TIMEOUT"
	case t.exit&0x7f != 0 || t.lost:
		return "CANCELLED"
	case t.exit != 0:
		return "FAILED"
	}
	return "COMPLETED"
}
