package slurm

import (
	"context"
	"slices"
	"strconv"

	"fsub/federation"
	"fsub/slurm/wire"
)

// A large array is not asked for as a whole (8 kB a task) each time one of its tasks starts or ends, which is nearly
// always: its rows in /jobs/state/ tell which few records to ask for.
const largeArray = 20

// arrayChange is what has to be asked of a large array.
type arrayChange struct {
	ask     []int64 // numbers of records; among them may be tasks of other people's arrays
	started []int   // tasks that waited and do no more: each must be among what was asked for
	pending []int   // tasks that wait now
}

// smallChange compares an array as it was last reported with its current rows. loose are the
// records whose array is unknown, by task index. It returns false if the whole array must be asked for.
func smallChange(last *federation.SiteJob, rows []row, loose map[int][]int64) (arrayChange, bool) {
	var c arrayChange
	known := map[int64]federation.SiteTask{}
	for _, t := range last.Tasks {
		known[int64(t.SiteJobID)] = t
	}
	waits := map[int]bool{}
	for _, r := range rows {
		t, ok := known[r.id]
		n, err := strconv.Atoi(r.tasks)
		switch {
		case r.id == int64(last.SiteJobID) && err == nil && state(r.state) == federation.Pending:
			waits[n] = true
			c.pending = append(c.pending, n)
		case !ok || r.id == int64(last.SiteJobID): // the array's own record has become a task
			return c, false
		case state(r.state) != t.State:
			c.ask = append(c.ask, r.id)
		}
	}
	var waited []int
	if last.PendingTasks != "" {
		var err error
		if waited, err = federation.ArrayIndices(last.PendingTasks); err != nil {
			return c, false
		}
	}
	for _, i := range waited {
		if !waits[i] {
			c.started = append(c.started, i)
			c.ask = append(c.ask, loose[i]...)
		}
	}
	return c, len(c.ask) >= len(c.started) && len(c.ask) <= max(8, len(last.Tasks)/8)
}

// looseTasks are the records of array tasks that nobody is known to own, by task index.
func looseTasks(rows []row, ours func(number) bool, owner map[int64]number) map[int][]int64 {
	out := map[int][]int64{}
	for _, r := range rows {
		if n, err := strconv.Atoi(r.tasks); err == nil && !ours(number(r.id)) && owner[r.id] == 0 {
			out[n] = append(out[n], r.id)
		}
	}
	return out
}

// updateArrays brings large arrays up to date and returns them; those for which that did not work are left over.
func (d *Driver) updateArrays(ctx context.Context, old *mark, changed []number, mine map[number][]row, v *view) (
	updated map[number]federation.SiteJob, rest []number, err error) {
	updated = map[number]federation.SiteJob{}
	if v.records != nil { // they are all at hand
		return updated, changed, nil
	}
	rows := v.rows
	var loose map[int][]int64
	for _, id := range changed {
		last := old.arrays[id]
		if last == nil || len(last.Tasks) < largeArray {
			rest = append(rest, id)
			continue
		}
		if loose == nil {
			loose = looseTasks(rows, d.ours(old), old.owner)
		}
		c, ok := smallChange(last, mine[id], loose)
		var records []wire.Job
		if ok {
			if records, err = d.runningRecords(ctx, c.ask, len(rows)); err != nil {
				return nil, nil, err
			}
		}
		j, whole := applyChange(last, c, records)
		if !ok || !whole {
			rest = append(rest, id)
			continue
		}
		updated[id] = j
	}
	return updated, rest, nil
}

// applyChange makes the array of now. It reports false if a task is missing that has started.
func applyChange(last *federation.SiteJob, c arrayChange, records []wire.Job) (federation.SiteJob, bool) {
	j := *last
	j.Tasks = slices.Clone(last.Tasks)
	missing := map[int]bool{}
	for _, i := range c.started {
		missing[i] = true
	}
	for i := range records {
		r := &records[i]
		if r.ArrayJobID.Value() != int64(j.SiteJobID) || !r.ArrayTaskID.Set {
			continue
		}
		t := siteTask(r)
		delete(missing, t.Index)
		if at := slices.IndexFunc(j.Tasks, func(x federation.SiteTask) bool { return x.Index == t.Index }); at >= 0 {
			j.Tasks[at] = t
		} else {
			j.Tasks = append(j.Tasks, t)
		}
	}
	rest := federation.State("")
	j.PendingTasks = ""
	if len(c.pending) > 0 {
		rest, j.PendingTasks = federation.Pending, ranges(c.pending)
	}
	summarize(&j, rest)
	return j, len(missing) == 0
}
