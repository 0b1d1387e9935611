package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/slurm/wire"
)

// Submit sends the attempt with its job ID pinned. The attempt's key travels with it as admin_comment: slurmctld keeps that through
// restarts, requeues and the splitting of arrays, slurmdbd records it when the job ends, and comment and extra stay the user's.
func (d *Driver) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	desc, err := describe(&s)
	if err != nil {
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
	}
	tr, err := d.c.negotiated(ctx)
	if err != nil {
		return federation.Receipt{}, err
	}
	for _, option := range tr.lacks {
		if s.Job.Spec.Uses(option) {
			return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w: its API version %s cannot carry --%s", s.Job.ID, d.cfg.Name,
				federation.ErrInvalid, tr.version, option)
		}
	}
	var a wire.JobSubmitResponse
	err = d.c.do(ctx, request{op: "submit", method: http.MethodPost, path: wire.PathJobSubmit, body: tr.encode(desc)}, &a)
	if err != nil {
		return federation.Receipt{}, fmt.Errorf("job %d: %w", s.Job.ID, err)
	}
	if a.JobID != 0 { // then it was submitted, whatever errors[] say
		return d.submitted(s, &a)
	}
	for _, e := range a.Errors {
		if e.Number == wire.ErrDuplicateJob {
			return d.adopt(ctx, s)
		}
	}
	if len(a.Errors) == 0 {
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w: an answer without job ID or reason", s.Job.ID, d.cfg.Name, federation.ErrUnavailable)
	}
	err = refusal(a.Errors[0])
	if a.Errors[0].Number == wire.ErrJobID {
		err = d.notPinned()
	}
	return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
}

// submitted makes the receipt. A field that slurmrestd did not know is a part of the job that was dropped: that
// must not pass unseen.
func (d *Driver) submitted(s federation.Submission, a *wire.JobSubmitResponse) (federation.Receipt, error) {
	r := federation.Receipt{SiteJobID: uint32(a.JobID)}
	for _, w := range a.Warnings {
		if strings.Contains(w.Description, "Job is in held state") {
			continue // as asked
		}
		r.Warnings = append(r.Warnings, w.Description)
		if strings.Contains(w.Description, "Ignoring unknown field") {
			d.log.Error("the site ignored a part of a submission: this is a defect of fsub", "job", s.Job.ID, "field", w.Source, "warning", w.Description)
		}
	}
	if a.Message != "" {
		r.Warnings = append(r.Warnings, strings.TrimSpace(a.Message))
	}
	if a.JobID != int64(s.Job.ID) {
		return r, fmt.Errorf("submit job %d to %s: %w: the site runs it as %d", s.Job.ID, d.cfg.Name, federation.ErrConflict, a.JobID)
	}
	return r, nil
}

// adopt looks at the job that has the ID already. It is ours if it has our key.
func (d *Driver) adopt(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	fail := func(err error) (federation.Receipt, error) {
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
	}
	there, err := d.held(ctx, s.Job.ID)
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return fail(fmt.Errorf("%w: the ID was taken and is free again: look the job up", federation.ErrUnavailable))
	case err != nil:
		return federation.Receipt{}, err
	case there.Key == s.Key && there.State == federation.Failed && there.Start.IsZero() && there.Reason == federation.ReasonBadConstraints:
		// Slurm 24.11 keeps a record of a job that it refused with 2014: a second submission finds it.
		return fail(slurmError(federation.ErrCapacity, wire.Error{Number: wire.ErrNodeConfig}, ""))
	case there.Key == s.Key:
		return federation.Receipt{SiteJobID: uint32(s.Job.ID), Adopted: true}, nil
	case there.State.Ended() && earlier(there.Key, s.Key):
		return fail(fmt.Errorf("%w: an earlier attempt of the job (%s, %s) is still in the controller's memory, until MinJobAge has passed",
			federation.ErrUnavailable, there.Key, there.State))
	}
	what := "another job"
	if there.Key != "" {
		what = "attempt " + there.Key
	}
	return fail(&federation.SlurmError{Kind: federation.ErrConflict, Number: wire.ErrDuplicateJob, Text: wire.Strerror(wire.ErrDuplicateJob),
		Detail: fmt.Sprintf("the ID belongs to %s of user %s (%s)", what, there.User, there.State)})
}

// earlier reports whether a and b are keys of the same job of the same federation and a has the lower attempt number.
func earlier(a, b string) bool {
	jobA, nA, okA := cutKey(a)
	jobB, nB, okB := cutKey(b)
	return okA && okB && jobA == jobB && nA < nB
}

// cutKey splits a key (see [federation.AttemptKey]) into what names the job and the attempt's number.
func cutKey(key string) (job string, number int, ok bool) {
	rest, stamp, found := cutLast(key)
	head, n, found2 := cutLast(rest)
	if !found || !found2 || !strings.HasPrefix(key, keyPrefix) {
		return "", 0, false
	}
	number, err := strconv.Atoi(n)
	return head + " " + stamp, number, err == nil
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

const keyPrefix = "fsub:"

// keyOf finds the attempt's key in an admin_comment, to which the site's own tools may have added.
func keyOf(comment string) string {
	for _, w := range strings.FieldsFunc(comment, func(r rune) bool { return r == ' ' || r == ',' || r == ';' || r == '\n' }) {
		if strings.HasPrefix(w, keyPrefix) {
			return w
		}
	}
	return ""
}

// probe finds out whether the site lets us choose job IDs, which the pinned mode needs. slurmctld checks that late: the
// request below names a reservation that cannot exist and is refused in any case, but with another number.
func (d *Driver) probe(ctx context.Context) error {
	d.mu.Lock()
	known := d.pinned
	d.mu.Unlock()
	if known {
		return nil
	}
	hold := true
	desc := &wire.JobDesc{JobID: int64(d.cfg.LastID), UserID: "0", GroupID: "0", Name: "fsub-probe", Reservation: "fsub-no-such-reservation", Hold: &hold,
		WorkDir: "/", Environment: wire.Environment{"FSUB=probe"}, Script: "#!/bin/true\n"}
	tr, err := d.c.negotiated(ctx)
	if err != nil {
		return err
	}
	var a wire.JobSubmitResponse
	if err := d.c.do(ctx, request{op: "probe", method: http.MethodPost, path: wire.PathJobSubmit, body: tr.encode(desc)}, &a); err != nil {
		return err
	}
	for _, e := range a.Errors {
		if e.Number == wire.ErrJobID || e.Number == wire.ErrUserID || e.Number == wire.ErrAccess {
			return fmt.Errorf("site %s: %w", d.cfg.Name, d.notPinned())
		}
	}
	d.mu.Lock()
	d.pinned = true
	d.mu.Unlock()
	return nil
}

// notPinned says why the site cannot be used in pinned mode, and what to do.
func (d *Driver) notPinned() error {
	return &federation.SlurmError{Kind: federation.ErrDenied, Number: wire.ErrJobID, Text: wire.Strerror(wire.ErrJobID), Detail: fmt.Sprintf(
		"the site does not let the %s choose job IDs: use a token of its SlurmUser (scontrol show config | grep SlurmUser)", d.c.tokens.describe())}
}
