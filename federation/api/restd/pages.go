package restd

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"unsafe"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/share"
)

// pageSize is how many jobs are in memory at a time: there may be a million, many listings at once, and callers who do not read them.
const pageSize = 100

// ByID orders jobs by their IDs.
func ByID(a, b federation.ListedJob) int { return cmp.Compare(a.ID, b.ID) }

// InPages reads the jobs that match q page by page, in an order in which no two are equal. Jobs may change between two pages: a task of an array that becomes a job of its own
// meanwhile comes after its array, unless that was read while the task waited. It ends with the first error.
func InPages(ctx context.Context, store Store, q federation.JobQuery, order func(a, b federation.ListedJob) int) iter.Seq2[[]federation.Job, error] {
	alone := q.Alone
	read := func(list []federation.ListedJob) ([]federation.Job, error) {
		q.IDs, q.Alone = nil, true
		for _, l := range list {
			q.IDs = append(q.IDs, l.ID)
		}
		jobs, err := store.Jobs(ctx, q)
		return jobs, answer.OfStore(err, answer.NoContact)
	}
	return func(yield func([]federation.Job, error) bool) {
		listed, err := store.ListJobs(ctx, q)
		if err != nil {
			yield(nil, answer.OfStore(err, answer.NoContact))
			return
		}
		slices.SortFunc(listed, order)
		share.Hold(ctx, len(listed)*int(unsafe.Sizeof(federation.ListedJob{})))
		for some := range slices.Chunk(listed, pageSize) {
			jobs, err := read(some)
			waiting := waitingTasks(jobs)
			var late []federation.ListedJob
			if len(waiting) > 0 && !alone {
				q.IDs, q.Alone = slices.Collect(maps.Keys(waiting)), false
				late, err = store.ListJobs(ctx, q)
				err = answer.OfStore(err, answer.NoContact)
			}
			if !yield(jobs, err) || err != nil {
				return
			}
			late = slices.DeleteFunc(late, func(l federation.ListedJob) bool {
				_, known := slices.BinarySearchFunc(listed, l, order)
				return known
			})
			for some := range slices.Chunk(late, pageSize) {
				jobs, err := read(some)
				jobs = slices.DeleteFunc(jobs, func(j federation.Job) bool {
					rest := waiting[j.Part.Array]
					return rest.Has(j.Part.Index)
				})
				if !yield(jobs, err) || err != nil {
					return
				}
			}
		}
	}
}

// waitingTasks are the tasks that wait of each array among jobs.
func waitingTasks(jobs []federation.Job) map[federation.JobID]federation.TaskSet {
	all := map[federation.JobID]federation.TaskSet{}
	for i := range jobs {
		if jobs[i].Whole == nil {
			continue
		}
		array, _ := federation.ReadArray(jobs[i].Spec.Array) // it was checked; "": none waits any more
		all[jobs[i].ID] = array.Set()
	}
	return all
}
