package submission

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

var (
	errJobPending = answer.NewError(federation.ErrConflict, 2024)
	errNoRequeue  = &federation.SlurmError{Kind: federation.ErrConflict, Number: 2028, Text: "Requested operation is presently disabled"}
	errPriority   = &federation.SlurmError{Kind: federation.ErrDenied, Number: 2135, Text: "Changes to job priority are not persistent, change nice instead"}
)

// permitAct says in Slurm's words why c may not do what req asks to job; nil if it may.
func (s *Actions) permitAct(ctx context.Context, c identity.Caller, kind action.Kind, job *federation.Job, req *v1.ActRequest) error {
	switch {
	case requeues(kind), kind == action.Update, kind == action.Top:
	default:
		return permit(c, kind, job)
	}
	if job.State.Ended() && job.End.Before(s.Now().Add(-s.Keep)) {
		return answer.InvalidJobID // slurmctld would have forgotten it
	}
	switch {
	case requeues(kind):
		return permitRequeue(c, job)
	case kind == action.Update:
		return s.permitUpdate(ctx, c, job, req.Change)
	}
	if job.State != federation.Pending { // top, by an operator
		return answer.NotPending
	}
	return nil
}

// requeues reports whether kind is one of the ways to requeue a job.
func requeues(kind action.Kind) bool {
	return kind == action.Requeue || kind == action.ReqHold || kind == action.Special
}

func permitRequeue(c identity.Caller, job *federation.Job) error {
	switch {
	case !mayAct(c, job):
		return answer.Denied
	case job.Spec.Requeue != nil && !*job.Spec.Requeue:
		return errNoRequeue
	case job.State.Ended() && job.Whole != nil && !job.Whole.Spread: // an earlier version has not kept its tasks apart
		return errNoRequeue
	case job.State.Ended() && job.Part != nil && job.Part.Array == 0: // a task that was cancelled before it had a record of its own
		return answer.InvalidJobID
	case job.State == federation.Pending:
		return errJobPending
	case job.Cancel && !job.State.Ended(), job.State == federation.Completing:
		return answer.TryLater
	}
	return nil
}

// running are the options that can be changed of a job that has started.
var running = map[string]bool{"time": true, "comment": true, "job-name": true, "nice": true, "requeue": true, "mail-type": true, "mail-user": true,
	"extra": true, "time-min": true, "deadline": true, "switches": true, "array-limit": true, "priority": true}

// permitUpdate checks the values too, and that some site could run the changed job.
func (s *Actions) permitUpdate(ctx context.Context, c identity.Caller, job *federation.Job, changes []sbatch.Change) error {
	operator := c.Role >= identity.RoleOperator
	switch {
	case !mayAct(c, job):
		return answer.NotYourJob
	case job.State.Ended():
		return answer.JobFinished
	case job.Cancel:
		return answer.TryLater
	case len(changes) == 0:
		return answer.BadBody("no change requested")
	}
	changed := *job
	spec, err := changedSpec(job, changes, s.Now().UTC())
	if err != nil {
		return err
	}
	changed.SetSpec(spec)
	for i := range changes {
		if err := permitChange(&changes[i], job, &changed, operator); err != nil {
			return err
		}
	}
	if err := CheckSpec(c, &changed); err != nil || job.State != federation.Pending {
		return err
	}
	if err = s.Gate.Allow(&changed); err == nil || s.refusedBefore(job, &changed, err) {
		err = s.Gate.AllowChange(ctx, job, &changed)
	}
	var refusal *federation.SlurmError
	if errors.As(err, &refusal) { // what sbatch says before its sentence, scontrol does not
		plain := *refusal
		plain.Said = ""
		return &plain
	}
	return err
}

// refusedBefore reports whether a changed job is refused for what the change has not brought about: sites, or limits, are others since the job was submitted. Then it may be changed as
// slurmctld allows (_update_job: acct_limit_already_exceeded), and waits as it did.
func (s *Actions) refusedBefore(before, after *federation.Job, err error) bool {
	var now, was *federation.SlurmError
	unchanged := *before
	unchanged.SetSpec(*before.Spec)
	if !errors.As(err, &now) || !errors.As(s.Gate.Allow(&unchanged), &was) || *now != *was {
		return false
	}
	return now.Number == wire.ErrAccountingPolicy || unchanged.Demand == after.Demand
}

func permitChange(change *sbatch.Change, before, after *federation.Job, operator bool) error {
	started := before.State != federation.Pending
	switch {
	case strings.HasPrefix(change.Option, "-"): // the site's or an administrator's
		return answer.Denied
	case change.Option == "priority":
		if _, hold := federation.PriorityOf(change.Value); hold == federation.NotHeld && !operator && !isRelease(change.Value) {
			return errPriority
		}
	case change.Option == "nice" && after.Spec.Nice < 0:
		return answer.Denied
	case started && !running[change.Option]:
		return answer.NotPending
	case !started && !operator && (change.Option == "oversubscribe" || change.Option == "deadline" || after.Spec.Uses("contiguous") && !before.Spec.Uses("contiguous")):
		return answer.Denied
	case started && change.Option == "time" && !operator && longer(after.Spec.TimeLimit, before.Spec.TimeLimit):
		return answer.Denied
	}
	switch {
	case len(change.Key)+len(change.Value) > MaxText:
		return answer.BadBody("a change is too long")
	case strings.ContainsFunc(change.Key, unicode.IsControl), change.Option != "comment" && strings.ContainsFunc(change.Value, unicode.IsControl):
		return answer.BadBody(fmt.Sprintf("a change contains a control character: %.40q=%.40q", change.Key, change.Value)) // the job's events tell of it
	}
	return nil
}

// longer reports whether limit a lets a job run longer than b; without a limit of its own it has its partition's.
func longer(a, b time.Duration) bool { return b != 0 && a > b }

func isRelease(value string) bool {
	return strings.EqualFold(value, "INFINITE") || value == strconv.Itoa(1<<32-1)
}

// changedSpec makes the changes that are the Spec's. A value that cannot be read is an error whose Said is what scontrol prints.
func changedSpec(job *federation.Job, changes []sbatch.Change, now time.Time) (sbatch.Spec, error) {
	spec, err := federation.ChangedSpec(job, changes, now)
	if e, ok := err.(*sbatch.ChangeError); ok {
		return spec, &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2062, Text: "Invalid value", Said: e.Text}
	}
	return spec, err
}
