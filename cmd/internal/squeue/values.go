package squeue

import (
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	"fsub/slurm/wire"
)

// shownID is the ID as users write it: 17, 17_3, 17+1, 17_[4-9%2]; without the limit with --only-job-state.
func (c *command) shownID(r *row) string {
	id := jobID(r)
	if c.onlyState && strings.HasSuffix(id, "]") {
		if i := strings.LastIndexByte(id, '%'); i > 0 {
			return id[:i] + "]"
		}
	}
	return id
}

func jobID(r *row) string {
	id := strconv.FormatInt(r.master(), 10)
	switch {
	case r.HetJobID.Value() != 0:
		return strconv.FormatInt(r.HetJobID.Number, 10) + "+" + strconv.FormatInt(r.HetJobOffset.Number, 10)
	case r.task >= 0:
		return id + "_" + strconv.Itoa(r.task)
	case r.ArrayTaskID.Set:
		return id + "_" + strconv.FormatInt(r.ArrayTaskID.Number, 10)
	case r.ArrayTaskString != "":
		return id + "_[" + r.ArrayTaskString + "]"
	}
	return id
}

func rawID(r *row) string { return strconv.FormatInt(r.JobID, 10) }

func arrayTask(r *row) string {
	switch {
	case r.task >= 0:
		return strconv.Itoa(r.task)
	case r.ArrayTaskID.Set:
		return strconv.FormatInt(r.ArrayTaskID.Number, 10)
	}
	return cmpOr(r.ArrayTaskString, "N/A")
}

// reasonList is where the job is, or why it is nowhere.
func reasonList(r *row) string {
	switch show.State(r.State) {
	case wire.StatePending, wire.StateTimeout, wire.StateOutOfMemory, wire.StateDeadline, wire.StateFailed:
		return "(" + r.StateReason + ")"
	}
	return r.Nodes
}

func (c *command) timeUsed(r *row) int64 { return r.RunTime(c.times.Now().Unix()) }

func timeLimit(r *row) string {
	switch {
	case r.TimeLimit.Infinite:
		return "UNLIMITED"
	case !r.TimeLimit.Set:
		return "NOT_SET"
	}
	return show.Elapsed(r.TimeLimit.Number * 60)
}

func (c *command) timeLeft(r *row) string {
	if r.TimeLimit.Infinite || !r.TimeLimit.Set {
		return timeLimit(r)
	}
	left := r.TimeLimit.Number*60 - c.timeUsed(r)
	if left < 0 {
		return "INVALID"
	}
	return show.Elapsed(left)
}

// pendingTime is how long the job has waited, or had when it started.
func (c *command) pendingTime(r *row) int64 {
	end := c.times.Now().Unix()
	if wire.BaseState(r.State) != wire.StatePending && r.StartTime.Value() > 0 {
		end = r.StartTime.Value()
	}
	return max(end-r.SubmitTime.Value(), 0)
}

func (c *command) memory(r *row) string {
	mib := r.MemoryPerNode
	if !mib.Set {
		mib = r.MemoryPerCPU
	}
	if mib.Value() == 0 {
		return "0"
	}
	if c.noConvert {
		return strconv.FormatInt(mib.Value(), 10) + "M"
	}
	return show.Memory(mib.Value())
}

// shared is how a job shares its nodes.
func shared(r *row) string {
	switch {
	case len(r.Shared) == 0:
		return "OK"
	case r.Shared.Has("user"):
		return "USER"
	case r.Shared.Has("mcs"):
		return "MCS"
	case r.Shared.Has("topo"):
		return "TOPO"
	case r.Shared.Has("oversubscribe"):
		return "YES"
	}
	return "NO"
}

// star prints a count that was not asked for as *.
func star(n wire.Number) string {
	if n.Value() == 0 {
		return "*"
	}
	return strconv.FormatInt(n.Number, 10)
}

func orStar(of func(*row) wire.Number) func(*row) string {
	return func(r *row) string { return star(of(r)) }
}

// bounded prints a count whose infinite value means that none was asked for.
func bounded(of func(*row) wire.Number) func(*row) string {
	return func(r *row) string {
		if n := of(r); n.Set && !n.Infinite {
			return strconv.FormatInt(n.Number, 10)
		}
		return "N/A"
	}
}

// ofHet is a number that only a component of a heterogeneous job has.
func ofHet(of func(*row) wire.Number) func(*row) string {
	return func(r *row) string {
		if r.HetJobID.Value() == 0 {
			return "N/A"
		}
		return strconv.FormatInt(of(r).Value(), 10)
	}
}

func coreSpec(r *row) string {
	if r.CoreSpec == 0 {
		return "N/A"
	}
	return strconv.FormatInt(r.CoreSpec, 10)
}

// profile is --profile as squeue writes it: NotSet, None, All, Energy,Task.
func profile(r *row) string {
	if len(r.Profile) == 0 {
		return "NotSet"
	}
	words := make([]string, len(r.Profile))
	for i, w := range r.Profile {
		if w == "NOT_SET" {
			return "NotSet"
		}
		words[i] = w[:min(len(w), 1)] + strings.ToLower(w[min(len(w), 1):])
	}
	return strings.Join(words, ",")
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
