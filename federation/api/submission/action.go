package submission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/share"
)

// settleTime is how long an answer waits for the daemon to carry out what was asked, so that the caller's next squeue shows it.
const settleTime = 2 * time.Second

// MaxJobs bounds the jobs of one request.
const MaxJobs = federation.MaxNamed

// Actions ask the controller to do something to jobs.
type Actions struct {
	Store      Store
	Controller Controls
	Gate       *Gate
	Now        func() time.Time
	Keep       time.Duration // how long an ended job can be asked for
	Suspends   map[federation.SiteName]bool
	Limits     *Holdings
}

// Controls is what actions ask of the controller: see Controller. One that refuses what it cannot do has a method Refusal, too.
type Controls interface {
	Wake()
	Settled(ctx context.Context, seqs []int64, d time.Duration)
}

// Do checks each reference of req against c's rights and the job's state, makes the accepted ones durable and waits a
// moment for them to be carried out. There is one error, or nil, for each reference.
func (s *Actions) Do(ctx context.Context, c identity.Caller, kind action.Kind, req v1.ActRequest) ([]error, error) {
	if kind == action.Signal && !ValidSignal(req.Signal.Name) {
		return nil, answer.BadBody(fmt.Sprintf("no signal %q: use a name such as USR1, or a number", req.Signal.Name))
	}
	if err := s.Limits.Ask(ctx, c, len(req.Jobs)); err != nil {
		return nil, err
	}
	if kind == action.Suspend || kind == action.Resume {
		return s.suspend(ctx, c, kind, req.Jobs)
	}
	if kind == action.Top && c.Role < identity.RoleOperator { // of unknown jobs, too
		errs := make([]error, len(req.Jobs))
		for i := range errs {
			errs[i] = answer.Denied
		}
		return errs, nil
	}
	jobs, tasks, err := s.jobsOf(ctx, req.Jobs)
	if err != nil {
		return nil, err
	}
	if err := countTasks(kind, req.Jobs, jobs); err != nil {
		return nil, err
	}
	parts := partsOf(jobs)
	errs := make([]error, len(req.Jobs))
	fates := make([]*tasksError, len(req.Jobs)) // of references to tasks, each of which is permitted by itself
	var asked []*request
	var wg sync.WaitGroup
	alone := share.With(ctx, nil)   // the turn is this goroutine's
	room := make(chan struct{}, 64) // requests that are written side by side, to share commits
	var array *arrayTasks           // of the job before
	for _, i := range inOrderOfJob(req.Jobs) {
		ref := req.Jobs[i]
		job, ok := jobs[ref.ID]
		if !ok {
			errs[i] = answer.InvalidJobID
			continue
		}
		if ref.Tasks.Len() > 0 && (array == nil || array.job.ID != ref.ID) {
			array = newArrayTasks(&job, tasks[ref.ID], parts[ref.ID])
		}
		var ask []*request
		switch all := s.wholeOf(kind, &job, ref.Tasks, tasks[ref.ID], parts[ref.ID], &req); {
		case all != nil:
			ask, fates[i] = s.permitWhole(ctx, c, kind, all, &req)
		case ref.Tasks.Len() > 0 && kind != action.Cancel && kind != action.Signal:
			ask, fates[i] = s.permitTasks(ctx, c, kind, array, ref.Tasks, &req)
		default:
			ask, errs[i] = s.permitJob(ctx, c, kind, ofLiveTasks(&job, parts[ref.ID]), ref.Tasks, array, &req)
		}
		for _, a := range ask {
			a.ref = i
			asked = append(asked, a)
			select {
			case room <- struct{}{}:
			default:
				next := share.Idle(ctx)
				room <- struct{}{}
				next()
			}
			wg.Go(func() {
				defer func() { <-room }()
				r := action.Request{
					Job: a.job.ID, Tasks: a.tasks, Kind: kind, UID: c.UID, User: c.Name, Signal: federation.Signal(req.Signal), At: s.Now().UTC(), Change: req.Change, Restarts: a.job.Restarts,
					// An operator's hold of a job of their own is a user's hold.
					Operator: c.Role >= identity.RoleOperator && (kind != action.Hold || c.UID != a.job.UID && !req.AsUser),
				}
				a.seq, a.err = s.Store.AddRequest(alone, r, Audited(answer.By(c), a.job, &r)...)
				a.err = storeError(a.err)
			})
		}
	}
	next := share.Idle(ctx)
	wg.Wait()
	next()
	s.answer(ctx, asked, errs, fates)
	return errs, nil
}

// permitJob asks whether kind may be done to a job, or to tasks of an array together. What is to be asked of the controller is nothing or one request.
func (s *Actions) permitJob(ctx context.Context, c identity.Caller, kind action.Kind, job *federation.Job, tasks federation.TaskSet, array *arrayTasks, req *v1.ActRequest) ([]*request, error) {
	err := s.permitAct(ctx, c, kind, job, req)
	if err == answer.JobFinished && job.Whole != nil {
		return nil, nil // scontrol looks for the tasks that wait, and there are none
	}
	if err == nil && tasks.Len() > 0 {
		err = array.permit(&tasks)
	}
	switch {
	case err != nil:
		return nil, err
	case requeues(kind) && job.Whole != nil && job.State.Ended(): // none of its tasks is known any more
		return nil, answer.InvalidJobID
	}
	return []*request{{job: job, tasks: tasks}}, nil
}

// storeError words why a request could not be stored.
func storeError(err error) error {
	if errors.Is(err, federation.ErrConflict) {
		return answer.Detailed(answer.TryLater, err.Error())
	}
	return answer.OfStore(err, answer.TimedOut)
}

// request is what was asked of the controller for a reference.
type request struct {
	ref   int
	job   *federation.Job
	tasks federation.TaskSet // of job, an array; none for all of it
	means federation.TaskSet // what an answer names where tasks is none; none: the job
	seq   int64
	err   error
}

// meant are the tasks of the reference that r is for.
func (r *request) meant() federation.TaskSet {
	switch {
	case r.job.Part != nil:
		return federation.Tasks(r.job.Part.Index)
	case r.tasks.Len() == 0:
		return r.means
	}
	return r.tasks
}

// answer waits a moment for the controller, and says what became of each reference.
func (s *Actions) answer(ctx context.Context, asked []*request, errs []error, fates []*tasksError) {
	seqs := make([]int64, len(asked))
	for k, a := range asked {
		seqs[k] = a.seq
	}
	s.settle(ctx, seqs)
	ctl, _ := s.Controller.(interface{ Refusal(seq int64) error })
	for _, a := range asked {
		if a.err == nil && a.seq != 0 && ctl != nil {
			a.err = ctl.Refusal(a.seq) // or a site's
		}
		if fates[a.ref] == nil {
			errs[a.ref] = a.err
			continue
		}
		fates[a.ref].add(a.meant(), a.err)
	}
	for i, e := range fates {
		if e != nil {
			errs[i] = e.orNil()
		}
	}
}

// jobsOf reads the jobs that refs name, and the task records of those of which only tasks are meant.
func (s *Actions) jobsOf(ctx context.Context, refs []v1.JobRef) (map[federation.JobID]federation.Job, map[federation.JobID][]federation.Task, error) {
	var ids, arrays []federation.JobID
	for _, ref := range refs {
		ids = append(ids, ref.ID)
		if ref.Tasks.Len() > 0 {
			arrays = append(arrays, ref.ID)
		}
	}
	jobs := map[federation.JobID]federation.Job{}
	if len(ids) == 0 {
		return jobs, nil, nil
	}
	list, err := s.Store.Jobs(ctx, federation.JobQuery{IDs: ids})
	if err != nil {
		return nil, nil, answer.OfStore(err, answer.NoContact)
	}
	parts := map[federation.JobID][]federation.Job{}
	for _, j := range list {
		jobs[j.ID] = j
		if j.Part != nil {
			parts[j.Part.Array] = append(parts[j.Part.Array], j)
		}
	}
	if len(arrays) == 0 {
		return jobs, nil, nil
	}
	tasks, err := s.Store.TasksOf(ctx, arrays)
	for id := range parts {
		if tasks != nil {
			tasks[id] = WithParts(tasks[id], parts[id])
		}
	}
	return jobs, tasks, answer.OfStore(err, answer.NoContact)
}

// settle wakes the controller and waits until it has carried out all of seqs, or for settleTime. 0 stands for none.
func (s *Actions) settle(ctx context.Context, seqs []int64) {
	seqs = slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { return seq == 0 })
	if len(seqs) == 0 {
		return
	}
	s.Controller.Wake()
	defer share.Idle(ctx)()
	s.Controller.Settled(ctx, seqs, settleTime)
}

// inOrderOfJob are the places of refs in order of their job IDs.
func inOrderOfJob(refs []v1.JobRef) []int {
	order := make([]int, len(refs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(refs[a].ID, refs[b].ID) })
	return order
}
