package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/driver"
	"fsub/federation/share"
)

// stepWait is how long the machines of a job may take to answer for one of its steps.
const stepWait = 10 * time.Second

// signalStep is POST /fed/v1/steps/signal. It is carried out at once, or not at all: a signal is nothing to be repeated later.
func (s *steps) signalStep(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := answer.ReadBody(r)
	if err != nil {
		return err
	}
	defer answer.PutBody(body)
	var req v1.StepSignal
	if err := json.Unmarshal(body.Bytes(), &req); err != nil {
		return answer.BadBody(err.Error())
	}
	if _, err := strconv.ParseUint(req.Step, 10, 32); err != nil {
		return answer.BadBody(fmt.Sprintf("invalid step number %.40q", req.Step))
	}
	if req.Signal != "" && !submission.ValidSignal(req.Signal) {
		return answer.BadBody(fmt.Sprintf("no signal %.40q: use a name such as USR1, or a number", req.Signal))
	}
	job, err := s.numbered(r.Context(), req.Job)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	if err := s.sendToStep(r.Context(), c, &job, req); err != nil {
		return err
	}
	return answer.JSON(w, struct{}{})
}

// sendToStep has the job's site do it.
func (s *steps) sendToStep(ctx context.Context, c identity.Caller, job *federation.Job, req v1.StepSignal) error {
	id := job.ID
	if job.Component != nil {
		id = job.Component.Leader // which has the steps of all
	}
	site := s.signals[job.Site]
	switch {
	case !c.Owns(job.UID) || !c.Reaches(uint32(job.ID), uint32(job.Group())):
		return answer.NotYourJob
	case job.State.Ended() || job.Site == "":
		return answer.InvalidJobID
	case job.State == federation.Suspended:
		return answer.StepNotRunning
	case site == nil:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: fmt.Sprintf(
			"%s is a Slurm cluster, whose REST API takes no orders to steps: call scancel within the job, or signal the whole job", job.Site)}
	}
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	again := share.Idle(ctx)
	err := site.SignalStep(ctx, id, req.Step, driver.StepSignal{Name: req.Signal, By: c.UID})
	again()
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return answer.InvalidJobID
	case err != nil:
		return answer.Outage(answer.TimedOut, err)
	}
	return nil
}
