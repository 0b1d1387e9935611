package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
)

// stateList tells the states of many jobs.
type stateList struct {
	store Store
	queue *queue.Queue
}

// statesAtOnce is how many jobs are read at a time.
const statesAtOnce = 1000

// get is POST /fed/v1/jobs/states: a list of IDs is too long for a query.
func (s *stateList) get(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	var q v1.StatesRequest
	err = json.Unmarshal(body.Bytes(), &q)
	answer.PutBody(body)
	if err != nil {
		return answer.BadBody(err.Error())
	}
	if len(q.Jobs) > federation.MaxNamed {
		return answer.BadBody(fmt.Sprintf("%d jobs in one request, at most %d are allowed", len(q.Jobs), federation.MaxNamed))
	}
	mark, err := queue.Lists{Queue: s.queue}.Mark(r.Context())
	if err != nil {
		return err
	}
	rest := v1.StatesResponse{States: []v1.JobState{}, Mark: int64(mark)}
	out := answer.NewList(w, "states")
	for ids := range slices.Chunk(q.Jobs, statesAtOnce) {
		unknown, err := s.some(r.Context(), out, ids, q.Tasks)
		if err != nil {
			return out.Fail(err)
		}
		rest.Unknown = append(rest.Unknown, unknown...)
		share.Idle(r.Context())()
	}
	end, err := json.Marshal(rest)
	if err != nil {
		return out.Fail(err)
	}
	return out.End(end)
}

// some tells the states of some jobs, and returns those that there are not.
func (s *stateList) some(ctx context.Context, out *answer.List, ids []federation.JobID, tasks bool) (unknown []federation.JobID, err error) {
	found, err := s.store.Jobs(ctx, federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	byID := make(map[federation.JobID]*federation.Job, len(found))
	for i := range found {
		byID[found[i].ID] = &found[i]
	}
	for _, id := range ids {
		j := byID[id]
		if j == nil {
			unknown = append(unknown, id)
			continue
		}
		state := v1.JobState{JobID: id, Name: j.Spec.Name, State: j.State, Reason: j.Reason, Site: j.Site, Exit: exitOf(j.State, j.ExitStatus)}
		if tasks && j.Whole != nil {
			if state.Tasks, err = s.tasksOf(ctx, j); err != nil {
				return nil, err
			}
		}
		text, err := json.Marshal(state)
		if err != nil {
			return nil, err
		}
		out.Add(text)
		if err := out.Send(); err != nil {
			return nil, err
		}
	}
	return unknown, nil
}

// exitOf is an exit status, where there is one.
func exitOf(state federation.State, status int32) *int32 {
	if !state.Ended() {
		return nil
	}
	return &status
}

// fate is what tasks have in common that are told together.
type fate struct {
	state federation.State
	exit  int32
}

// tasksOf is what has become of the tasks of an array.
func (s *stateList) tasksOf(ctx context.Context, j *federation.Job) ([]v1.TasksState, error) {
	own, err := s.store.Tasks(ctx, j.ID)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	fates := map[int]fate{}
	for i := range own {
		fates[own[i].Index] = fate{own[i].State, own[i].ExitStatus}
	}
	for q := (federation.JobQuery{IDs: []federation.JobID{j.ID}, AfterID: j.ID, Limit: statesAtOnce}); ; { // their IDs follow that of the array, or begin again below it
		parts, err := s.store.Jobs(ctx, q)
		if err != nil {
			return nil, answer.OfStore(err, answer.NoContact)
		}
		for i := range parts {
			if p := parts[i].Part; p != nil {
				fates[p.Index] = fate{parts[i].State, parts[i].ExitStatus}
			}
		}
		switch {
		case len(parts) == statesAtOnce:
			q.AfterID = parts[len(parts)-1].ID
		case q.BeforeID == 0:
			q.AfterID, q.BeforeID = 0, j.ID
		default:
			return foldTasks(j, fates), nil
		}
	}
}

// foldTasks puts together what has become of tasks.
func foldTasks(j *federation.Job, fates map[int]fate) []v1.TasksState {
	sets := map[fate]federation.TaskSet{}
	indices := map[fate][]int{}
	for i, f := range fates {
		indices[f] = append(indices[f], i)
	}
	for f, list := range indices {
		sets[f] = federation.Tasks(list...)
	}
	add := func(f fate, more federation.TaskSet) {
		known := sets[f]
		sets[f] = known.Or(&more)
	}
	for _, c := range j.Whole.Cancelled {
		add(fate{state: federation.Cancelled}, c.Tasks)
	}
	if waiting := j.Waiting(); waiting.Len() > 0 {
		add(fate{state: federation.Pending}, waiting)
	} else if rest, err := federation.ReadArray(j.Spec.Array); j.Spec.Array != "" && err == nil {
		add(fate{state: j.State, exit: j.ExitStatus}, rest.Set()) // they have shared its end, or will
	}
	var out []v1.TasksState
	for f, set := range sets {
		if set.Len() > 0 {
			out = append(out, v1.TasksState{Tasks: set.Format(0), State: f.state, Exit: exitOf(f.state, f.exit)})
		}
	}
	slices.SortFunc(out, func(a, b v1.TasksState) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.Tasks, b.Tasks))
	})
	return out
}
