package sim

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/testbed/simsite"
)

// drawArray is an --array value of up to MaxTasks tasks, with a limit now and then. "" is not an array.
func (w *world) drawArray() string {
	if w.cfg.MaxTasks == 0 {
		return ""
	}
	text := fmt.Sprintf("0-%d", 1+w.rng.IntN(w.cfg.MaxTasks-1))
	if w.rng.IntN(2) == 0 {
		text += fmt.Sprintf("%%%d", 1+w.rng.IntN(8))
	}
	return text
}

// checkLimits looks for arrays of which more tasks run than their limit allows, over all sites together.
func (w *world) checkLimits(ctx context.Context) error {
	running := map[federation.JobID]int{}
	for _, s := range w.sites {
		for _, r := range s.Active() {
			id, err := w.arrayOf(ctx, r)
			if err != nil {
				return err
			}
			running[id]++
			if limit := w.limits[id]; limit > 0 && running[id] > limit {
				return fmt.Errorf("%d tasks of array %d run at once, its limit is %d", running[id], id, limit)
			}
		}
	}
	return nil
}

// arrayOf is the array that a run is a task of, as a task of the site or as a part; 0: none.
func (w *world) arrayOf(ctx context.Context, r simsite.Run) (federation.JobID, error) {
	if r.Array != 0 {
		return federation.JobID(r.Array), nil
	}
	id := federation.JobID(r.JobID)
	if array, known := w.arrays[id]; known {
		return array, nil
	}
	j, err := w.store.Job(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("job %d runs at a site: %w", id, err)
	}
	w.arrays[id] = 0
	if j.Part != nil {
		w.arrays[id] = j.Part.Array
	}
	return w.arrays[id], nil
}

// checkArray compares an array with what ran: each task once, and to its end.
func (w *world) checkArray(ctx context.Context, array *federation.Job) error {
	runs, finished := map[int]int{}, map[int]int{}
	count := func(index int, r simsite.Run) {
		runs[index]++
		w.report.Runs++
		if r.Outcome == simsite.RunCompleted {
			finished[index]++
		}
	}
	jobs, err := w.store.Jobs(ctx, federation.JobQuery{IDs: []federation.JobID{array.ID}})
	if err != nil {
		return err
	}
	parts := map[int]federation.State{}
	for _, s := range w.sites {
		for i := range jobs {
			if jobs[i].Part == nil {
				continue
			}
			parts[jobs[i].Part.Index] = jobs[i].State
			for _, r := range w.runsOf(s, &jobs[i]) {
				count(jobs[i].Part.Index, r)
			}
		}
	}
	w.report.Tasks += array.Whole.Count
	w.report.Parts += len(parts)
	if array.State != federation.Completed {
		return w.wrong(ctx, array, "should have completed")
	}
	for i := range array.Whole.Count {
		if runs[i] != 1 || finished[i] != 1 {
			return w.wrong(ctx, array, fmt.Sprintf("task %d ran %d times, %d times to its end; as a part it is %q", i, runs[i], finished[i], parts[i]))
		}
	}
	w.report.Completed++
	return nil
}
