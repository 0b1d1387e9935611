// Package submission judges what users ask of jobs. A [Gate] checks what a job asks for, when it is submitted and when it is changed, before it
// is stored. [Actions] cancels, holds, requeues and changes jobs by requests to the controller: [Actions.Do] checks rights and states, makes the
// requests durable and waits a moment for them to be carried out. [Holdings] bounds what one user may take up of the daemon; each bound is far
// above what people do. All refuse with Slurm's numbers and sentences.
package submission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/federation/jobmail"
	"fsub/federation/reasons"
	"fsub/federation/share"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Allow refuses a job that no site can ever run.
func (s *Gate) Allow(job *federation.Job) error {
	return s.judge(job, func() error { return cmp.Or(s.Controller.Judge(job), s.judgePack(job)) })
}

// judgePack refuses an array whose tasks could run somewhere, and nowhere as many in one job as it asks for.
func (s *Gate) judgePack(job *federation.Job) error {
	p := job.Spec.Packs()
	if p == nil {
		return nil
	}
	array, err := federation.ReadArray(job.Spec.Array)
	if err != nil {
		return err
	}
	tasks := min(p.Size, array.Len())
	together := *job
	together.SetSpec(job.Spec.OfPack(tasks, min(p.SideBySide(), tasks)))
	if err := s.Controller.Judge(&together); err != nil {
		return refuseAlone(fmt.Sprintf("--pack: a job of %d tasks asks for --time=%s, with which it could never run (%v): pack fewer", tasks, together.Spec.TimeLimit, err))
	}
	return nil
}

// Store is what a Gate and Actions need of a store.
type Store interface {
	federation.JobStore
	action.Store
	federation.Submitters
}

// Gate lets jobs in: whatever is submitted passes it, and what a job is changed to.
type Gate struct {
	Store      Store
	Controller Planner
	Now        func() time.Time
	Federation string // its name
	Limits     *Holdings
	Mail       *jobmail.Rules // nil: no mail is sent
	Submits    Admission      // nil: the account tree sets no limits
	// Tree has the account that a job is submitted under; nil: there is no tree.
	Tree interface{ Tree() *accounts.Tree }
}

// Planner is what a gate asks of the controller: see Controller.
type Planner interface {
	Judge(j *federation.Job) error
	Decision(j *federation.Job) decision.Decision
	Try(ctx context.Context, j *federation.Job) (decision.Trial, error)
	Sites() []*federation.Site
	Wake()
}

// HeaderKey is the header with the key of a submission: the same key from the same user is the same job.
const HeaderKey = "Idempotency-Key"

// Accept makes a durable job of what c asked for, or says in Slurm's words why not. If the user has submitted a job under the key already, job
// becomes that one, whatever the gate would say of it today. An empty key is none.
func (s *Gate) Accept(ctx context.Context, c identity.Caller, job *federation.Job, p *sbatch.Payload, key string) (Clusters, error) {
	key, err := keyOf(c, key)
	if err != nil {
		return Clusters{}, err
	}
	named, err := s.accept(ctx, c, job, p, key)
	if err == nil || key == "" {
		return named, err
	}
	if id, unknown := s.Store.JobOfKey(ctx, job.UID, key); unknown == nil {
		job.ID = id
		return Clusters{Again: true}, nil
	}
	return named, err
}

func (s *Gate) accept(ctx context.Context, c identity.Caller, job *federation.Job, p *sbatch.Payload, key string) (Clusters, error) {
	if err := s.Limits.Begin(c); err != nil {
		return Clusters{}, err
	}
	named, err := s.prepare(c, job, p)
	if err != nil {
		return named, err
	}
	if err := s.Allow(job); err != nil {
		return named, err
	}
	size, err := sizeOf(job.Spec, p)
	if err != nil {
		return named, err
	}
	if err := s.Limits.Submit(ctx, c, job.UID, size); err != nil {
		return named, err
	}
	settled, err := s.admit(ctx, job)
	if err != nil {
		return named, err
	}
	stored := federation.JobID(0)
	defer func() { settled(stored) }() // after a panic too: others may wait for it
	s.pin(job)
	s.settleAccount(job)
	named.Answer = cmp.Or(named.Answer, job.Spec.Clusters)
	share.Idle(ctx) // little is left to do after it, and others who wait for settled may hold all turns
	again, err := s.create(ctx, job, p, key)
	named.Again = again
	if err == nil && !again {
		stored = job.ID
	}
	return named, err
}

// settleAccount settles the account of the tree that a job belongs to, and that pays for it, once and for all: a default account that changes later is not the job's.
func (s *Gate) settleAccount(job *federation.Job) {
	if s.Tree == nil {
		return
	}
	t := s.Tree.Tree()
	job.TreeAccount = t.JobAccount(job.User, job.Spec.Account)
	job.EditSpec(func(sp *sbatch.Spec) {
		sp.Account = cmp.Or(sp.Account, t.Account(job.User, ""))
		sp.Het = slices.Clone(sp.Het)
		for i := range sp.Het {
			sp.Het[i].Account = cmp.Or(sp.Het[i].Account, t.Account(job.User, ""))
		}
	})
}

// perDependency is what each job that another waits for takes in memory, beside the text that names it.
const perDependency = 128

// sizeOf is what a job takes up.
func sizeOf(sp *sbatch.Spec, p *sbatch.Payload) (Size, error) {
	spec, err := specSize(sp)
	for c := range components(sp) {
		spec += perDependency * int64(strings.Count(c.Dependency, ":")+strings.Count(c.Dependency, ",")+strings.Count(c.Dependency, "?"))
	}
	out := Size{Jobs: 1 + len(sp.Het), Tasks: 1, Payload: int64(p.Size()), Spec: spec}
	if err == nil && sp.Array != "" {
		a, _ := federation.ReadArray(sp.Array) // it was checked
		out.Tasks = a.Len()
	}
	return out, err
}

// prepare checks what c asked for, by itself, and brings it into the form that is stored.
func (s *Gate) prepare(c identity.Caller, job *federation.Job, p *sbatch.Payload) (Clusters, error) {
	for sp := range components(job.Spec) {
		if sp.Nice = min(sp.Nice, maxNice); sp.Nice < 0 && c.Role < identity.RoleOperator { // a user may step back, not push forward
			return Clusters{}, answer.NewError(federation.ErrInvalid, wire.ErrNice)
		}
	}
	for sp := range components(job.Spec) {
		if err := onSlices(sp); err != nil {
			return Clusters{}, err
		}
	}
	if err := checkPayload(p); err != nil {
		return Clusters{}, err
	}
	if err := CheckSpec(c, job); err != nil {
		return Clusters{}, err
	}
	named, err := s.checkDemand(job.Spec)
	job.Demand = demand.Of(job.Spec)
	passOnGroup(job.Spec, p)
	job.Spec.Digest = p.Digest()
	return named, err
}

// passOnGroup puts the job's group into its environment, whatever --export leaves of that: so what it submits is in the group, too.
func passOnGroup(sp *sbatch.Spec, p *sbatch.Payload) {
	if group := sp.GroupName(); group != "" && !slices.Contains(p.Environment, sbatch.GroupVariable+"="+group) {
		p.Environment = append(slices.DeleteFunc(slices.Clone(p.Environment), func(e string) bool { return strings.HasPrefix(e, sbatch.GroupVariable+"=") }),
			sbatch.GroupVariable+"="+group)
	}
}

// components are sp and the further components of a heterogeneous job.
func components(sp *sbatch.Spec) iter.Seq[*sbatch.Spec] {
	return func(yield func(*sbatch.Spec) bool) {
		if !yield(sp) {
			return
		}
		for i := range sp.Het {
			if !yield(&sp.Het[i]) {
				return
			}
		}
	}
}

// begins is how a job stands that is submitted, until the controller has looked at it.
func begins(job *federation.Job, now time.Time) {
	job.State, job.Submit = federation.Pending, now
	switch {
	case job.Spec.Hold:
		job.Held, job.Reason = federation.HeldUser, reasons.HeldUser
		job.Holder = &federation.Holder{By: job.User, At: now}
	case job.Spec.Begin.After(now):
		job.Reason = reasons.BeginTime
	case job.Spec.Dependency != "":
		job.Reason = reasons.Dependency
	default:
		job.Reason = reasons.Priority
	}
}

// create stores a job, if its user has not submitted it already.
func (s *Gate) create(ctx context.Context, job *federation.Job, p *sbatch.Payload, key string) (again bool, err error) {
	begins(job, s.Now().UTC())
	again, err = s.Store.CreateJobOnce(ctx, job, p, key)
	switch {
	case err == nil:
	case errors.Is(err, federation.ErrConflict): // all IDs are in use: what slurmctld says when it has no number left
		return false, answer.Outage(answer.NotNow, err)
	case errors.Is(err, federation.ErrUnavailable) && key != "": // sbatch tries again for some minutes, and the key makes one job of it
		return false, answer.Outage(answer.NotNow, err)
	default:
		return false, answer.OfStore(err, answer.TimedOut)
	}
	s.Controller.Wake()
	return again, nil
}
