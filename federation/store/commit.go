package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/journal"
)

// Commit implements [journal.Committer]. Besides what the interface says: ErrNotFound if b names a job that does not exist;
// ErrConflict if it would leave a job with two attempts that are not final, or give an attempt the key of another. Where b has
// the same thing twice, the later one counts.
func (s *Store) Commit(ctx context.Context, b *journal.Batch) error {
	if b.Empty() {
		return nil
	}
	steps, err := stepsOf(b)
	if err != nil { // a value that has no form in the database
		return fmt.Errorf("commit: %w: %w", federation.ErrInvalid, err)
	}
	err = s.writer.submit(ctx, func(t *tx) error {
		for i := range steps {
			if err := t.step(&steps[i]); err != nil {
				return err
			}
		}
		if len(b.Moves) == 0 {
			return nil
		}
		if err := t.db.settle(); err != nil { // so that what has moved is told before
			return err
		}
		for i := range b.Moves {
			t.note(journal.Change{Kind: journal.ChangeMove, Move: &b.Moves[i]})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for i, j := range b.Create { // they are the first steps
		j.Rev = steps[i].args[1].(int64)
	}
	for i, j := range b.Jobs { // and they the next
		j.Rev = steps[len(b.Create)+i].args[0].(int64)
	}
	return nil
}

// step is one statement of a batch.
type step struct {
	text string
	args []any
	what string // of which job it is what, for errors
	job  federation.JobID
	note journal.Change
}

// stepsOf prepares b in the caller's goroutine, as far as that is possible outside the transaction.
func stepsOf(b *journal.Batch) ([]step, error) {
	steps := make([]step, 0, len(b.Create)+len(b.Jobs)+len(b.Specs)+len(b.Attempts)+len(b.Tasks)+len(b.Events)+len(b.Charges)+len(b.Requests)+len(b.Done))
	for _, j := range b.Create {
		args, err := jobValues(j)
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", j.ID, err)
		}
		steps = append(steps, step{insertJob, args, "creation", j.ID, jobChange(j, journal.Created)})
	}
	for _, j := range b.Jobs {
		args := appendChanging(append(make([]any, 0, 2+len(changingColumns)), nil), j)
		steps = append(steps, step{updateJob, append(args, int64(j.ID)), "record", j.ID, jobChange(j, journal.Changed)})
	}
	for _, j := range b.Specs {
		args, err := specValues(j)
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", j.ID, err)
		}
		steps = append(steps, step{updateSpec, args, "spec", j.ID, journal.Change{}}) // it is among Jobs
	}
	for _, a := range finalFirst(b.Attempts) {
		args, err := attemptValues(a)
		if err != nil {
			return nil, fmt.Errorf("job %d attempt %d: %w", a.Job, a.Number, err)
		}
		steps = append(steps, step{upsertAttempt, args, "attempt", a.Job, journal.Change{
			Kind: journal.ChangeAttempt, Job: a.Job, Number: int64(a.Number), Site: a.Site, State: string(a.State),
		}})
	}
	for _, k := range b.Tasks {
		steps = append(steps, step{upsertTask, taskValues(k), "task", k.Job, journal.Change{
			Kind: journal.ChangeTask, Job: k.Job, Number: int64(k.Index), State: string(k.State),
		}})
	}
	for _, e := range b.Events {
		args := []any{int64(e.Job), nil, int64(e.Attempt), nanos(e.At), e.Text}
		steps = append(steps, step{insertEvent, args, "event", e.Job, journal.Change{Kind: journal.ChangeEvent, How: journal.Created, Job: e.Job}})
	}
	for i := range b.Charges {
		k := &b.Charges[i]
		steps = append(steps, step{insertCharge, chargeValues(k), "charge", k.Job, journal.Change{
			Kind: journal.ChangeCharge, How: journal.Created, Job: k.Job, Number: int64(k.Attempt), Site: k.Site, State: string(k.State),
		}})
	}
	for _, seq := range b.Done {
		steps = append(steps, step{deleteRequest, []any{seq}, "request", 0, journal.Change{Kind: journal.ChangeRequest, How: journal.Gone, Number: seq}})
	}
	for i := range b.Requests {
		r := &b.Requests[i]
		args, err := requestValues(r)
		if err != nil {
			return nil, fmt.Errorf("job %d: request: %w", r.Job, err)
		}
		steps = append(steps, step{insertRequest, args, "request", r.Job, journal.Change{
			Kind: journal.ChangeRequest, How: journal.Created, Job: r.Job, State: string(r.Kind), Who: fmt.Sprint(r.UID),
		}})
	}
	return auditSteps(b.Audit, healthSteps(b, siteSteps(b, nodeSteps(b, runLengthSteps(b, pastWaitSteps(b, steps)))))), nil
}

func jobChange(j *federation.Job, how journal.ChangeHow) journal.Change {
	return journal.Change{Kind: journal.ChangeJob, How: how, Job: j.ID, Number: int64(j.Attempt), Site: j.Site, State: string(j.State)}
}

// step does one statement, with the number that only the transaction can give.
func (t *tx) step(s *step) (err error) {
	switch s.text {
	case updateJob:
		s.args[0], err = t.next(&t.rev, revs)
	case insertJob:
		s.args[1], err = t.next(&t.rev, revs)
	case insertEvent:
		s.args[1], err = t.next(&t.eventSeq, eventSeqs)
	case insertRequest:
		s.note.Number, err = t.next(&t.requestSeq, requestSeqs)
		s.args[0] = s.note.Number
	}
	if err != nil {
		return err
	}
	return t.later(func(rows int64, err error) error { return t.stepped(s, rows, err) }, s.text, s.args...)
}

// stepped notes what s has changed, or says what went wrong.
func (t *tx) stepped(s *step, rows int64, err error) error {
	if err == nil && rows == 0 && (s.text == updateJob || s.text == updateSpec) {
		err = federation.ErrNotFound
	}
	if err == nil && rows == 0 && s.text == insertJob {
		err = federation.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("job %d: %s: %w", s.job, s.what, err)
	}
	if s.note.Kind != "" && (rows > 0 || s.text != insertCharge) {
		t.note(s.note)
	}
	return nil
}

// finalFirst returns the last mention of each attempt, those that are final before the others: the new attempt of a job can only
// be written when the old one has ended, in whatever order the two stand in the batch.
func finalFirst(attempts []*federation.Attempt) []*federation.Attempt {
	if len(attempts) < 2 {
		return attempts
	}
	type key struct {
		job    federation.JobID
		number int
	}
	last := make(map[key]*federation.Attempt, len(attempts))
	for _, a := range attempts {
		last[key{a.Job, a.Number}] = a
	}
	ordered := make([]*federation.Attempt, 0, len(attempts))
	for _, final := range []bool{true, false} {
		for _, a := range attempts {
			if a.State.Final() == final && last[key{a.Job, a.Number}] == a {
				ordered = append(ordered, a)
			}
		}
	}
	return ordered
}
