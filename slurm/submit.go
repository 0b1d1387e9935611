package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Submit sends the attempt. To a pinned site it goes with its job ID, and with its key as admin_comment: slurmctld keeps that through
// restarts, requeues and the splitting of arrays, slurmdbd records it when the job ends, and comment and extra stay the user's. At a mapped
// site it is searched for first, unless this is its first time.
func (d *Driver) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	if s.Promise == "" {
		return d.submit(ctx, s)
	}
	r, err := d.submit(ctx, promised(s))
	var refused *federation.SlurmError
	if errors.As(err, &refused) && (refused.Number == wire.ErrReservation || refused.Number == wire.ErrReservationAccess) { // it is not there any more
		return d.submit(ctx, s)
	}
	return r, err
}

// promised is the submission of a job, with all its components, into the reservation that was made for it.
func promised(s federation.Submission) federation.Submission {
	job := *s.Job
	job.EditSpec(func(spec *sbatch.Spec) {
		spec.Reservation, spec.Het = s.Promise, slices.Clone(spec.Het)
		for i := range spec.Het {
			spec.Het[i].Reservation = s.Promise
		}
	})
	s.Job = &job
	return s
}

func (d *Driver) submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	ctx = calling(ctx, forSubmissions)
	fail := func(err error) (federation.Receipt, error) {
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
	}
	st, err := d.rights.standing(ctx)
	if err != nil {
		return federation.Receipt{}, err
	}
	tr, err := d.c.negotiated(ctx)
	if err != nil {
		return federation.Receipt{}, err
	}
	if err := d.carries(tr, st, &s); err != nil {
		return fail(err)
	}
	ctx = d.c.inNameOf(ctx, s.User.Name)
	r := request{op: "submit", method: http.MethodPost, path: wire.PathJobSubmit}
	h := how{pinned: !st.mapped, others: st.onlyUser == "" && !st.each, argv: d.c.takesArguments(), until2302: d.c.until2302()}
	out := s
	if s.Job.Part != nil {
		out = asPart(out, tr.old)
	}
	if st.mapped {
		out = d.keyed(st, withIDs(out))
		if h.others && tr.old {
			r.as = s.User.Name
		}
		if !s.First {
			if receipt, err := d.adoptMapped(ctx, st, &s); err != nil || receipt.Adopted {
				return receipt, err
			}
		}
	}
	r.raw = guard(&out.Payload)
	if r.body, err = tr.describe(&out, h); err != nil {
		return fail(err)
	}
	receipt, err := d.send(ctx, st, &s, r)
	if st.mapped && errors.Is(err, federation.ErrUnavailable) {
		d.unsure.note(s.Key, d.c.now())
	}
	return receipt, err
}

// carries refuses what the site's interface cannot express, and users for whom the token may not act.
func (d *Driver) carries(tr *translation, st standing, s *federation.Submission) error {
	if err := d.rights.onlyFor(st, s.User.Name); err != nil {
		return err
	}
	if len(s.Job.Spec.Het) > 0 && (st.mapped || tr.old) {
		return fmt.Errorf("%w: it numbers jobs itself, so the components of a heterogeneous one could not be told from other jobs", federation.ErrInvalid)
	}
	for _, option := range tr.lacks {
		if s.Job.Spec.Uses(option) {
			return fmt.Errorf("%w: its API version %s cannot carry --%s", federation.ErrInvalid, tr.version, option)
		}
	}
	return nil
}

// send makes the submission and reads what came of it.
func (d *Driver) send(ctx context.Context, st standing, s *federation.Submission, r request) (federation.Receipt, error) {
	var a wire.JobSubmitResponse
	if err := d.c.do(ctx, r, &a); err != nil {
		return federation.Receipt{}, fmt.Errorf("job %d: %w", s.Job.ID, err)
	}
	if a.JobID != 0 { // then it was submitted, whatever errors[] say
		if err := d.ranAs(ctx, r.as, a.JobID); err != nil {
			return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
		}
		if st.each {
			d.seenByReader(ctx, a.JobID)
		}
		return d.submitted(st, *s, &a)
	}
	for _, e := range a.Errors {
		if e.Number == wire.ErrDuplicateJob && !st.mapped {
			return d.adopt(ctx, st, *s)
		}
	}
	if len(a.Errors) == 0 {
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w: an answer without job ID or reason", s.Job.ID, d.cfg.Name, federation.ErrUnavailable)
	}
	err := refusal(a.Errors[0])
	if a.Errors[0].Number == wire.ErrJobID && !st.mapped {
		err = d.rights.notPinned(nil)
	}
	return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
}

// submitted makes the receipt. A field that slurmrestd did not know is a part of the job that was dropped: that
// must not pass unseen.
func (d *Driver) submitted(st standing, s federation.Submission, a *wire.JobSubmitResponse) (federation.Receipt, error) {
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
	if !st.mapped && a.JobID != int64(s.Job.Number()) {
		return r, fmt.Errorf("submit job %d to %s: %w: the site runs it as %d", s.Job.ID, d.cfg.Name, federation.ErrConflict, a.JobID)
	}
	return r, nil
}

// adopt looks at the job that has the ID already. It is ours if it has our key.
func (d *Driver) adopt(ctx context.Context, st standing, s federation.Submission) (federation.Receipt, error) {
	ctx = calling(ctx, forSubmissions)
	fail := func(err error) (federation.Receipt, error) {
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
	}
	there, err := d.queue.held(ctx, st, federation.JobRef{ID: s.Job.ID, Number: s.Job.Number()})
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return fail(fmt.Errorf("%w: the ID was taken and is free again: look the job up", federation.ErrUnavailable))
	case err != nil:
		return federation.Receipt{}, err
	case there.Key == s.Key && wasRefused(&there):
		return fail(slurmError(federation.ErrCapacity, wire.Error{Number: wire.ErrNodeConfig}, ""))
	case there.Key == s.Key:
		return federation.Receipt{SiteJobID: uint32(s.Job.Number()), Adopted: true}, nil
	case there.State.Ended() && earlier(there.Key, s.Key):
		return fail(fmt.Errorf("%w: %s, %s, until MinJobAge has passed", federation.ErrRemembered, there.Key, there.State))
	}
	what := "another job"
	if there.Key != "" {
		what = "attempt " + there.Key
	}
	return fail(&federation.SlurmError{Kind: federation.ErrConflict, Number: wire.ErrDuplicateJob, Text: wire.Strerror(wire.ErrDuplicateJob),
		Detail: fmt.Sprintf("the ID belongs to %s of user %s (%s)", what, there.User, there.State)})
}

// wasRefused reports whether a job is the record that Slurm 22.05 and 24.11 keep of one that they refused with 2014: a second submission finds it.
func wasRefused(j *federation.SiteJob) bool {
	return j.State == federation.Failed && j.Start.IsZero() && j.Reason == reasons.BadConstraints
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

// runsTasks reports whether a key is that of a job that several tasks of an array share: see decision.Pack.
func runsTasks(key string) bool {
	_, n, ok := cutKey(key)
	return ok && n == 0
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

// adoptMapped looks for an attempt at a mapped site. A receipt that is not adopted means that the
// site does not have it.
func (d *Driver) adoptMapped(ctx context.Context, st standing, s *federation.Submission) (federation.Receipt, error) {
	there, err := d.queue.held(ctx, st, federation.JobRef{ID: s.Job.ID, Number: s.Job.Number(), Key: s.Key, Submitted: s.Job.Submit})
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return federation.Receipt{}, nil
	case err != nil:
		return federation.Receipt{}, err
	case wasRefused(&there):
		err := slurmError(federation.ErrCapacity, wire.Error{Number: wire.ErrNodeConfig}, "")
		return federation.Receipt{}, fmt.Errorf("submit job %d to %s: %w", s.Job.ID, d.cfg.Name, err)
	}
	return federation.Receipt{SiteJobID: there.SiteJobID, Adopted: true}, nil
}
