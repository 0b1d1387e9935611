package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
)

// settleTime is how long an answer waits for the daemon to carry out what was asked, so that the caller's next squeue shows it.
const settleTime = 2 * time.Second

// maxActs bounds the jobs of one request.
const maxActs = 100_000

// act is POST /fed/v1/jobs/{cancel,signal,hold,release,...}.
func (s *Server) act(kind federation.RequestKind) handler {
	return func(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
		body, err := s.bodies.read(w, r)
		if err != nil {
			return err
		}
		defer putBody(body)
		var req v1.ActRequest
		if err := json.Unmarshal(body.Bytes(), &req); err != nil {
			return badBody(err.Error())
		}
		if len(req.Jobs) > maxActs {
			return badBody(fmt.Sprintf("%d jobs in one request, at most %d are allowed", len(req.Jobs), maxActs))
		}
		errs, err := s.actions.actOn(r.Context(), c, kind, req)
		if err != nil {
			return err
		}
		resp := v1.ActResponse{Results: make([]v1.ActResult, len(req.Jobs))}
		for i, ref := range req.Jobs {
			resp.Results[i].ID = ref.ID
			if errs[i] != nil {
				e := wireError(errs[i])
				resp.Results[i].Error = &e
				resp.Results[i].Tasks = resultsOf(errs[i])
			}
		}
		return writeJSON(w, resp)
	}
}

// actions ask the controller to do something to jobs.
type actions struct {
	store      federation.Store
	controller Controls
	gate       *gate
	now        func() time.Time
	keep       time.Duration // how long an ended job can be asked for
	suspends   map[federation.SiteName]bool
}

// Controls is what actions ask of the controller: see Controller. One that refuses what it cannot do has a method Refusal, too.
type Controls interface {
	Wake()
	Settled(ctx context.Context, seqs []int64, d time.Duration)
}

// actOn checks each reference of req against c's rights and the job's state, makes the accepted ones durable and waits a
// moment for them to be carried out. There is one error, or nil, for each reference.
func (s *actions) actOn(ctx context.Context, c identity.Caller, kind federation.RequestKind, req v1.ActRequest) ([]error, error) {
	if kind == federation.RequestSignal && !validSignal(req.Signal.Name) {
		return nil, badBody(fmt.Sprintf("no signal %q: use a name such as USR1, or a number", req.Signal.Name))
	}
	var total taskCount
	for _, ref := range req.Jobs {
		if err := total.add(len(ref.Tasks)); err != nil {
			return nil, err
		}
	}
	if kind == federation.RequestSuspend || kind == federation.RequestResume {
		return s.suspend(ctx, c, kind, req.Jobs)
	}
	jobs, tasks, err := s.jobsOf(ctx, req.Jobs)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(req.Jobs))
	seqs := make([]int64, len(req.Jobs))
	var wg sync.WaitGroup
	room := make(chan struct{}, 64) // requests that are written side by side, to share commits
	var array *arrayTasks           // of the job before
	for _, i := range inOrderOfJob(req.Jobs) {
		ref := req.Jobs[i]
		job, ok := jobs[ref.ID]
		if !ok {
			errs[i] = errInvalidJobID
			continue
		}
		if errs[i] = s.permitAct(c, kind, &job, &req); errs[i] != nil {
			continue
		}
		if len(ref.Tasks) > 0 {
			if array == nil || array.job != ref.ID {
				array = newArrayTasks(&job, tasks[ref.ID])
			}
			if errs[i] = array.permit(ref.Tasks); errs[i] != nil {
				continue
			}
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			seqs[i], errs[i] = s.store.AddRequest(ctx, federation.Request{
				Job: ref.ID, Tasks: ref.Tasks, Kind: kind, UID: c.UID, Signal: req.Signal, At: s.now().UTC(), Change: req.Change, Restarts: job.Restarts,
				// An operator's hold of a job of their own is a user's hold.
				Operator: c.Role >= identity.RoleOperator && (kind != federation.RequestHold || c.UID != job.UID && !req.AsUser),
			})
			errs[i] = ofStore(errs[i], errTimedOut)
		})
	}
	wg.Wait()
	s.settle(ctx, seqs)
	s.refusals(seqs, errs)
	return errs, nil
}

// jobsOf reads the jobs that refs name, and the task records of those of which only tasks are meant.
func (s *actions) jobsOf(ctx context.Context, refs []v1.JobRef) (map[federation.JobID]federation.Job, map[federation.JobID][]federation.Task, error) {
	var ids, arrays []federation.JobID
	for _, ref := range refs {
		ids = append(ids, ref.ID)
		if len(ref.Tasks) > 0 {
			arrays = append(arrays, ref.ID)
		}
	}
	jobs := map[federation.JobID]federation.Job{}
	if len(ids) == 0 {
		return jobs, nil, nil
	}
	list, err := s.store.Jobs(ctx, federation.JobQuery{IDs: ids})
	if err != nil {
		return nil, nil, ofStore(err, errNoContact)
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
	tasks, err := s.store.TasksOf(ctx, arrays)
	for id := range parts {
		if tasks != nil {
			tasks[id] = withParts(tasks[id], parts[id])
		}
	}
	return jobs, tasks, ofStore(err, errNoContact)
}

// settle wakes the controller and waits until it has carried out all of seqs, or for settleTime. 0 stands for none.
func (s *actions) settle(ctx context.Context, seqs []int64) {
	seqs = slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { return seq == 0 })
	if len(seqs) == 0 {
		return
	}
	s.controller.Wake()
	s.controller.Settled(ctx, seqs, settleTime)
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

// taskCount bounds the array tasks that one request may name: "17_[0-4000000]" is short, and may be said a million times.
type taskCount int

func (n *taskCount) add(tasks int) error {
	if *n += taskCount(tasks); *n > federation.MaxArrayIndex+1 {
		return badBody(fmt.Sprintf("more than %d array tasks in one request", federation.MaxArrayIndex+1))
	}
	return nil
}

// permit says in Slurm's words why c may not do kind to job; nil if it may.
func permit(c identity.Caller, kind federation.RequestKind, job *federation.Job) error {
	if !c.Owns(job.UID) {
		if kind == federation.RequestHold || kind == federation.RequestRelease {
			return errNotYourJob
		}
		return errDenied
	}
	// An operator may cancel once more: that ends a job whose site has left the federation.
	again := kind == federation.RequestSignal || kind == federation.RequestCancel && c.Role >= identity.RoleOperator
	if job.State.Ended() || job.Cancel && !again {
		if kind == federation.RequestHold || kind == federation.RequestRelease {
			return errJobFinished
		}
		return errAlreadyDone
	}
	switch kind {
	case federation.RequestSignal:
		if job.State == federation.Pending || job.State == federation.Suspended {
			return errTryLater
		}
	case federation.RequestRelease: // of what runs there is nothing to release, and as in Slurm that is no error; nor is a hold
		if job.Held == federation.HeldAdmin && c.Role < identity.RoleOperator {
			return errDenied
		}
	}
	return nil
}

// arrayTasks are the tasks of one array.
type arrayTasks struct {
	job   federation.JobID
	array federation.Array // of a spread array it is what still waits
	ended map[int]bool     // by index, of those that have a record: also of one that was taken out of the array when it ended
}

// newArrayTasks reads the tasks of job, of which known have a record. A job that is no array has none.
func newArrayTasks(job *federation.Job, known []federation.Task) *arrayTasks {
	a := &arrayTasks{job: job.ID, ended: make(map[int]bool, len(known))}
	if job.Spec.Array != "" {
		a.array, _ = federation.ReadArray(job.Spec.Array) // checked when it was submitted
	}
	for _, t := range known {
		a.ended[t.Index] = t.State.Ended()
	}
	return a
}

// permit refuses tasks that the array does not have, and a list of tasks that have all ended.
func (a *arrayTasks) permit(tasks []int) error {
	live := false
	for _, t := range tasks {
		ended, known := a.ended[t]
		if !known && !a.array.Has(t) {
			return errInvalidJobID
		}
		live = live || !ended
	}
	if !live {
		return errAlreadyDone
	}
	return nil
}

// signals are the names that scancel --signal knows, without SIG.
var signals = map[string]bool{
	"HUP": true, "INT": true, "QUIT": true, "ABRT": true, "KILL": true, "ALRM": true, "TERM": true, "USR1": true, "USR2": true,
	"URG": true, "CONT": true, "STOP": true, "TSTP": true, "TTIN": true, "TTOU": true, "XCPU": true, "BUS": true, "SEGV": true,
	"PIPE": true, "CHLD": true, "ILL": true, "TRAP": true, "FPE": true, "WINCH": true,
}

// validSignal reports whether name is a signal's name without SIG, or its number.
func validSignal(name string) bool {
	if signals[name] {
		return true
	}
	n := 0
	for _, d := range name {
		if d < '0' || d > '9' || n > 64 {
			return false
		}
		n = n*10 + int(d-'0')
	}
	return n >= 1 && n <= 64
}
