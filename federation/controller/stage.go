package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/codes"
	"fsub/federation/pack"
	"fsub/federation/place"
	"fsub/federation/reasons"
)

// How long bringing files to a site, or results home, may take; and for how long results are tried for after the
// job's end.
const (
	stageTime = time.Hour
	homeFor   = 2 * time.Hour
)

// stageError is a submission that failed before the site was asked: its files could not be brought there.
type stageError struct{ err error }

func (e stageError) Error() string { return e.err.Error() }
func (e stageError) Unwrap() error { return e.err }

// carries reports whether the files of a job at s have to be carried there and back.
func carries(stager federation.Stager, s *site, j *federation.Job) bool {
	return stager != nil && !s.Sees(j.Spec.WorkDir)
}

// delivery brings what a job needs to the site of a submission.
type delivery struct {
	store       Store
	stager      federation.Stager // nil: there is none
	files       pack.Files
	environment func(federation.SiteName, *federation.Job, []string) []string // see Config; nil: jobs have their own
}

// ready reads the payload of a submission and has its files brought to the site, or put in their places where the site sees them.
func (d *delivery) ready(ctx context.Context, site *federation.Site, staged bool, sub *federation.Submission, payloadOf federation.JobID) error {
	payload, err := d.store.Payload(ctx, payloadOf)
	if err != nil {
		return fmt.Errorf("%w: read the script: %w", federation.ErrNotSent, err)
	}
	sub.Payload = payload
	place.Adapt(sub, site.Options)
	if d.environment != nil {
		of := *sub.Job
		if of.Part == nil && payloadOf != of.ID { // a pack, which nobody knows: what its tasks call us for they call for their array
			of.ID, of.Attempt = payloadOf, 0
		}
		sub.Payload.Environment = d.environment(site.Name, &of, sub.Payload.Environment)
	}
	ctx, cancel := context.WithTimeout(ctx, stageTime)
	defer cancel()
	if !staged {
		if f := sub.Job.Spec.Fed; d.stager == nil || f == nil || len(f.StageIn)+len(f.Keep) == 0 {
			return nil
		}
		if err := d.stager.Link(ctx, *sub, site.Sees); err != nil {
			return stageError{err}
		}
		return nil
	}
	prepared, err := d.stager.Prepare(ctx, site.Name, *sub)
	if err != nil {
		return stageError{err}
	}
	*sub = prepared
	// That may have taken long. A job that was cancelled meanwhile need not run for the moment until its site
	// hears of it.
	if j, err := d.store.Job(ctx, sub.Job.ID); err == nil && j.Cancel {
		return stageError{errCancelled}
	}
	return nil
}

var errCancelled = errors.New("cancelled while its files were brought to the site")

// stageFailed ends a job whose own words cannot be followed. For any other cause the site is left alone for a while.
func (at *attempts) stageFailed(s *site, j *job, err error) {
	damaged := errors.Is(err, egress.ErrDamaged)
	lasting := damaged || errors.Is(err, federation.ErrInvalid) || errors.Is(err, federation.ErrDenied)
	if !lasting && !j.Cancel {
		at.refuse(s, j, err, reasons.Refused)
		return
	}
	at.life.finishAttempt(j, federation.AttemptWithdrawn, err.Error())
	at.batch.eventf(j, "%v", err)
	if damaged && !j.Cancel {
		at.life.backToQueue(j, reasons.HeldUser)
		at.life.holdDamaged(j)
		return
	}
	if j.Cancel {
		at.life.end(j, federation.Cancelled, reasons.None, at.now())
		return
	}
	j.att.Class, j.ExitStatus = federation.ClassUser, 1<<8
	at.life.end(j, federation.Failed, reasons.LaunchFailure, at.now())
}

// holdDamaged holds a job that waits, and for which no copy of what it keeps can be brought back. When its user releases it, it begins without one.
func (l *life) holdDamaged(j *job) {
	why := codes.Because(codes.WaitDamaged)
	l.batch.eventf(j, "%s", why.Text())
	j.holdFor(action.Request{Job: j.ID, Kind: action.Hold}, why, l.now())
	j.Reason = j.heldReason()
	l.queue.look(j)
	l.batch.job(j)
}
