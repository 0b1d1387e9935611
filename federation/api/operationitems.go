package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
)

// items are what becomes of chosen jobs: what is refused, or needs nothing, is settled at once. cannot says why one cannot be moved, if it is not nil.
func (s *operations) items(ctx context.Context, c identity.Caller, op *action.Operation, chosen []federation.Job, cannot func(*federation.Job) error) []action.OperationItem {
	items := make([]action.OperationItem, 0, len(chosen))
	settled := 0
	for i := range chosen {
		j := &chosen[i]
		v := action.OperationItem{N: i + 1, Job: j.ID, Site: j.Site, Restarts: j.Restarts}
		if j.Whole != nil && j.Whole.Spread {
			v.Tasks = j.Waiting()
		}
		needless, err := s.fit(ctx, c, op, j)
		if err == nil && needless == "" && cannot != nil {
			err = cannot(j)
		}
		switch {
		case err != nil:
			settled++
			v.Settled, v.Failed, v.Note = settled, true, notDone(op.Verb, textOf(err))
		case needless != "":
			settled++
			v.Settled, v.Note = settled, needless
		default:
			v.Note = remark(op.Verb, j)
		}
		items = append(items, v)
	}
	return items
}

// notDone says that a job did not get what it was chosen for.
func notDone(verb action.Kind, why string) string {
	return "not " + verb.Done() + ": " + why
}

// remark is what else there is to say of a job to which an operation is done.
func remark(verb action.Kind, j *federation.Job) string {
	switch {
	case verb == action.Hold && j.State.Started():
		return "runs; will be held if requeued"
	case verb != action.Release:
		return ""
	}
	switch j.Held {
	case federation.NotHeld:
		return "was not held"
	case federation.HeldUser:
		return "released; was held by its user"
	}
	return "released; was held by an operator"
}

// fit says why an operation's verb cannot be done to a job, or why that is needless.
func (s *operations) fit(ctx context.Context, c identity.Caller, op *action.Operation, j *federation.Job) (needless string, err error) {
	verb := op.Verb
	requeues := verb == action.Requeue || verb == action.ReqHold
	moves := verb == action.Move
	err = s.Actions.Permit(ctx, c, verb, j, op.Change)
	switch {
	case errors.Is(err, federation.ErrDenied):
		return "", err
	case verb == action.Requeue && j.State == federation.Pending && !j.Cancel:
		return "it waits already", nil
	case verb == action.Cancel && (j.Cancel || j.State.Ended()):
		return "it was cancelled or has ended before", nil
	case verb == action.ReqHold && j.State == federation.Pending:
		return "", s.Actions.Permit(ctx, c, action.Hold, j, nil)
	case moves && slices.Contains(op.Move.To, j.Site):
		return "it is there already", nil
	case moves && j.State.Started() && !op.Move.Running:
		return "", invalidOperation("it has started at " + string(j.Site))
	case (moves || requeues) && j.State.Started() && j.Spec.Requeue != nil && !*j.Spec.Requeue:
		return "", invalidOperation("it was submitted with --no-requeue")
	}
	return "", err
}

// cannotMove returns a function that says why a job cannot run at any site that a move may take it to: nothing is stopped for such a move. It is nil where
// nobody asks that.
func (s *operations) cannotMove(q *v1.NewOperation) func(*federation.Job) error {
	c, ok := s.Controller.(interface {
		WhyNone() func(*federation.Job, []federation.SiteName) []decision.Rejection
	})
	if q.Verb != action.Move || q.Force || !ok {
		return nil
	}
	whyNone, all := c.WhyNone(), s.Controller.Sites()
	return func(j *federation.Job) error {
		to := q.To
		if len(to) == 0 {
			for _, site := range all {
				if site.Name != j.Site {
					to = append(to, site.Name)
				}
			}
			if len(to) == 0 {
				return invalidOperation("there is no other site; --force queues it again")
			}
		}
		var texts []string
		for _, no := range whyNone(j, to) {
			texts = append(texts, fmt.Sprintf("%s cannot run it (%s)", no.Site, whyText(&no)))
		}
		if texts == nil {
			return nil
		}
		return invalidOperation(strings.Join(texts, "; "))
	}
}

func whyText(no *decision.Rejection) string {
	if text := no.Text(); text != "" {
		return text
	}
	return string(no.Reason)
}

// notChosen are the jobs that conditions name by their IDs and that cannot be chosen: there is no such job, or it has ended. They are settled.
func (s *operations) notChosen(ctx context.Context, q *v1.NewOperation, chosen []federation.Job) ([]action.OperationItem, error) {
	conditions, err := readConditions(q.Where)
	if err != nil {
		return nil, invalidOperation(err.Error())
	}
	var names []jobName
	for i := range conditions {
		if c := &conditions[i]; c.key == "id" && c.op == '=' {
			names = append(names, namesOf(c.values, chosen)...)
		}
	}
	names = slices.DeleteFunc(names, func(n jobName) bool { return len(q.Jobs) > 0 && !slices.Contains(q.Jobs, n.id) })
	if len(names) == 0 {
		return nil, nil
	}
	query := federation.JobQuery{}
	for _, n := range names {
		query.IDs = append(query.IDs, n.id)
	}
	known, err := s.Store.Jobs(ctx, query) // with the tasks of arrays
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	var out []action.OperationItem
	for _, n := range names {
		note := n.whyNot(known)
		if note == "" && len(conditions) == 1 {
			note = "not chosen; see: fed job show " + n.id.String()
		}
		if note == "" || len(conditions) > 1 && note != noSuchJob { // it is for the other conditions to say
			continue
		}
		out = append(out, action.OperationItem{Job: n.id, Tasks: federation.Tasks(n.task...), Failed: true, Note: note})
	}
	return out, nil
}

// noSuchJob is what Slurm says of an unknown ID.
const noSuchJob = "Invalid job id specified"

// jobName is a job, or one task of an array, as a command names it.
type jobName struct {
	id   federation.JobID
	task []int // none, or one
}

// namesOf are those of the values of an id condition that have chosen nothing.
func namesOf(values []string, chosen []federation.Job) (out []jobName) {
	has := map[string]bool{}
	for i := range chosen {
		j := &chosen[i]
		has[j.ID.String()] = true
		if p := j.Part; p != nil {
			has[p.Array.String()], has[fmt.Sprintf("%d_%d", p.Array, p.Index)] = true, true
		}
	}
	for _, value := range values {
		if has[value] {
			continue
		}
		id, task, part := strings.Cut(value, "_")
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil || n == 0 {
			continue
		}
		name := jobName{id: federation.JobID(n)}
		if part {
			index, err := strconv.Atoi(task)
			if err != nil {
				continue
			}
			name.task = []int{index}
		}
		out = append(out, name)
	}
	return out
}

// whyNot says why a job cannot be chosen, "" if nothing of what is known does.
func (n *jobName) whyNot(known []federation.Job) string {
	for i := range known {
		j := &known[i]
		switch {
		case n.task == nil && j.ID != n.id, n.task != nil && (j.Part == nil || j.Part.Array != n.id || j.Part.Index != n.task[0]):
			continue
		case j.Component != nil && j.Component.Leader != j.ID:
			return fmt.Sprintf("is a component of %d: name that job", j.Component.Leader)
		case j.State.Ended():
			return "has ended (" + string(j.State) + ")"
		}
		return ""
	}
	for i := range known {
		if j := &known[i]; n.task != nil && j.ID == n.id {
			if array, err := federation.ReadArray(j.Spec.Array); err == nil && array.Has(n.task[0]) {
				return "waits as a part of its array: name the array " + n.id.String()
			}
		}
	}
	return noSuchJob
}

// numbered are items, and more of them that are settled.
func numbered(items, more []action.OperationItem) []action.OperationItem {
	settled := 0
	for i := range items {
		settled = max(settled, items[i].Settled)
	}
	for i := range more {
		more[i].N, more[i].Settled = len(items)+1, settled+i+1
		items = append(items, more[i])
	}
	return items
}
