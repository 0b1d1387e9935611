package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// stepWait is how long the machines of a job may take to answer for one of its steps.
const stepWait = 10 * time.Second

// signalStep is POST /fed/v1/steps/signal. It is carried out at once, or not at all: a signal is nothing to be repeated later.
func (s *steps) signalStep(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	body, err := s.bodies.read(w, r)
	if err != nil {
		return err
	}
	defer putBody(body)
	var req v1.StepSignal
	if err := json.Unmarshal(body.Bytes(), &req); err != nil {
		return badBody(err.Error())
	}
	if _, err := strconv.ParseUint(req.Step, 10, 32); err != nil {
		return badBody(fmt.Sprintf("invalid step number %.40q", req.Step))
	}
	if req.Signal != "" && !validSignal(req.Signal) {
		return badBody(fmt.Sprintf("no signal %.40q: use a name such as USR1, or a number", req.Signal))
	}
	job, err := s.store.Job(r.Context(), req.Job)
	if err != nil {
		return ofStore(err, errNoContact)
	}
	if err := s.sendToStep(r.Context(), c, &job, req); err != nil {
		return err
	}
	return writeJSON(w, struct{}{})
}

// sendToStep has the job's site do it.
func (s *steps) sendToStep(ctx context.Context, c identity.Caller, job *federation.Job, req v1.StepSignal) error {
	id := job.ID
	if job.Component != nil {
		id = job.Component.Leader // which has the steps of all
	}
	site := s.signals[job.Site]
	switch {
	case !c.Owns(job.UID):
		return errNotYourJob
	case job.State.Ended() || job.Site == "":
		return errInvalidJobID
	case job.State == federation.Suspended:
		return errStepNotRunning
	case site == nil:
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: -1, Text: fmt.Sprintf(
			"%s is a Slurm cluster, whose REST API takes no orders to steps: call scancel within the job, or signal the whole job", job.Site)}
	}
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	err := site.SignalStep(ctx, id, req.Step, federation.StepSignal{Name: req.Signal, By: c.UID})
	switch {
	case errors.Is(err, federation.ErrNotFound):
		return errInvalidJobID
	case err != nil:
		return outage(errTimedOut, err)
	}
	return nil
}

// whoKilled writes of each step who has cancelled it as slurmrestd does, by name, and returns their uids by step ("17.0").
func (s *lister) whoKilled(steps []wire.DBStep) (by map[string]uint32) {
	for i := range steps {
		st := &steps[i]
		if st.KillRequestUser == "" {
			continue
		}
		uid, err := strconv.ParseUint(st.KillRequestUser, 10, 32)
		if err == nil {
			name, _ := s.users.UserName(uint32(uid))
			st.KillRequestUser = cmp.Or(name, st.KillRequestUser)
		} else {
			id, _, err := s.users.UserIDs(st.KillRequestUser)
			if err != nil {
				continue // the site's own user
			}
			uid = uint64(id)
		}
		if by == nil {
			by = map[string]uint32{}
		}
		by[string(st.Step.ID)] = uint32(uid)
	}
	return by
}
