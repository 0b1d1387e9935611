package squeue

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/fsub/internal/show"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// row is one line: a job, a task, or with --array one task of those that have not started.
type row struct {
	*wire.Job
	task int // a task that was taken from ArrayTaskString; -1: none
}

// rows selects, splits and sorts.
func (c *command) rows(jobs []wire.Job) []row {
	asked := c.askedTasks()
	nodes := c.askedNodes()
	var rows []row
	for i := range jobs {
		j := &jobs[i]
		if !c.wants(j, nodes) {
			continue
		}
		rows = append(rows, c.split(j, asked)...)
	}
	c.order(rows)
	return rows
}

// wants makes the selections that the daemon does not make.
func (c *command) wants(j *wire.Job, nodes map[string]bool) bool {
	state := show.State(j.State)
	switch {
	case c.steps:
		if wire.BaseState(j.State) != wire.StateRunning {
			return false
		}
	case c.start:
		if state != wire.StatePending {
			return false
		}
	case c.allStates:
	case len(c.states) > 0:
		if !slices.Contains(c.states, state) && !slices.Contains(c.states, wire.BaseState(j.State)) {
			return false
		}
	default:
		if show.Ended(j.State) {
			return false
		}
	}
	// One job is asked for by its path, without the daemon's filters.
	return oneOf(c.names, j.Name) && (oneOf(c.users, j.UserName) || oneOf(c.users, strconv.Itoa(int(j.UserID)))) &&
		oneOf(c.partitions, j.Partition) && oneOf(c.accounts, j.Account) && oneOf(c.qos, j.QOS) && oneOf(c.reservations, j.ReservationName) &&
		!(c.notMe && int(j.UserID) == uid()) && (nodes == nil || onNodes(j, nodes))
}

func oneOf(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }

func (c *command) askedNodes() map[string]bool {
	if len(c.nodes) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, list := range c.nodes {
		names, err := hostlist.Expand(list)
		if err != nil {
			names = []string{list}
		}
		for _, n := range names {
			set[n] = true
		}
	}
	return set
}

func onNodes(j *wire.Job, nodes map[string]bool) bool {
	names, _ := hostlist.Expand(j.Nodes)
	return slices.ContainsFunc(names, func(n string) bool { return nodes[n] })
}

// askedTasks are the tasks that --jobs names, by job; nil where it names the job.
func (c *command) askedTasks() map[int64]map[int]bool {
	if len(c.jobs) == 0 {
		return nil
	}
	asked := map[int64]map[int]bool{}
	for _, ref := range c.jobs {
		idText, tasks, some := strings.Cut(ref, "_")
		id, _ := strconv.ParseInt(idText, 10, 64)
		if !some {
			asked[id] = nil
			continue
		}
		if set, known := asked[id]; !known {
			asked[id] = map[int]bool{}
		} else if set == nil {
			continue
		}
		for _, t := range show.Ranges(tasks) {
			asked[id][t] = true
		}
	}
	return asked
}

// split makes rows of the tasks that have not started: one for all, or one for each where --array or --jobs asks for it.
func (c *command) split(j *wire.Job, asked map[int64]map[int]bool) []row {
	if j.ArrayTaskString == "" || j.ArrayTaskID.Set {
		return []row{{j, -1}}
	}
	want := asked[j.ArrayJobID.Value()]
	if !c.array && want == nil {
		return []row{{j, -1}}
	}
	var rows []row
	for _, t := range show.Ranges(j.ArrayTaskString) {
		if want == nil || want[t] {
			rows = append(rows, row{j, t})
		}
	}
	return rows
}

// order sorts by --sort, or as squeue does: partition, state, priority; then by number.
func (c *command) order(rows []row) {
	keys := c.sort
	if keys == "" {
		keys = "P,t,-p"
		if c.start {
			keys = "S"
		}
	}
	var by []func(a, b *row) int
	letters := c.fields().letters
	for key := range strings.SplitSeq(keys, ",") {
		down := strings.HasPrefix(key, "-")
		key = strings.TrimLeft(key, "+-")
		if key == "" {
			continue
		}
		less := numeric[key[0]]
		if less == nil {
			f := letters[key[0]]
			if f == nil {
				continue
			}
			less = func(a, b *row) int { return cmp.Compare(f.Value(a), f.Value(b)) }
		}
		if down {
			up := less
			less = func(a, b *row) int { return up(b, a) }
		}
		by = append(by, less)
	}
	by = append(by, byID)
	slices.SortStableFunc(rows, func(a, b row) int {
		for _, less := range by {
			if n := less(&a, &b); n != 0 {
				return n
			}
		}
		return 0
	})
}

func byID(a, b *row) int {
	return cmp.Or(cmp.Compare(a.master(), b.master()), cmp.Compare(a.index(), b.index()))
}

// master is the number that the row's ID begins with.
func (r *row) master() int64 {
	if r.ArrayJobID.Value() != 0 {
		return r.ArrayJobID.Value()
	}
	return r.JobID
}

// index is the task's, or beyond all tasks for those that have not started.
func (r *row) index() int64 {
	switch {
	case r.task >= 0:
		return int64(r.task)
	case r.ArrayTaskID.Set:
		return r.ArrayTaskID.Number
	}
	return 1 << 40
}

// numeric are the sort keys whose text does not sort as it should.
var numeric = map[byte]func(a, b *row) int{
	'i': byID,
	'A': func(a, b *row) int { return cmp.Compare(a.JobID, b.JobID) },
	'C': number(func(r *row) wire.Number { return r.CPUs }),
	'D': number(func(r *row) wire.Number { return r.NodeCount }),
	'e': number(func(r *row) wire.Number { return r.EndTime }),
	'l': number(func(r *row) wire.Number { return r.TimeLimit }),
	'm': number(func(r *row) wire.Number { return r.MemoryPerNode }),
	'M': number(func(r *row) wire.Number { return wire.Num(-r.StartTime.Value()) }),
	'p': number(func(r *row) wire.Number { return r.Priority }),
	'Q': number(func(r *row) wire.Number { return r.Priority }),
	'U': func(a, b *row) int { return cmp.Compare(a.UserID, b.UserID) },
	'S': func(a, b *row) int { return cmp.Compare(startOrNever(a), startOrNever(b)) },
	'V': number(func(r *row) wire.Number { return r.SubmitTime }),
}

func number(of func(*row) wire.Number) func(a, b *row) int {
	return func(a, b *row) int { return cmp.Compare(of(a).Or(1<<62), of(b).Or(1<<62)) }
}

func startOrNever(r *row) int64 {
	if s := r.StartTime.Value(); s != 0 {
		return s
	}
	return 1 << 62
}
