package api

import (
	"context"
	"net/http"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/journal"
)

// Daemons are those that share the store with this one, which leads.
type Daemons interface {
	Daemons(ctx context.Context) ([]v1.Daemon, error)
	// StepDown has another daemon lead, once the requests in hand are answered.
	StepDown()
}

// daemons answers for the daemons that share the store.
type daemons struct {
	all   Daemons // nil: there is only this one
	store Store
}

// List is GET /fed/v1/daemons.
func (s *daemons) List(ctx context.Context, _ identity.Caller, _ v1.None) ([]v1.Daemon, error) {
	if s.all == nil {
		return nil, nil
	}
	all, err := s.all.Daemons(ctx)
	return all, answer.OfStore(err, answer.NoContact)
}

// StepDown is POST /fed/v1/daemons/step-down.
func (s *daemons) StepDown(r *http.Request, c identity.Caller) (v1.None, error) {
	if s.all == nil {
		return v1.None{}, &federation.SlurmError{Kind: federation.ErrConflict, Text: "this daemon shares its store with no other: stop it instead", Alone: true}
	}
	all, err := s.all.Daemons(r.Context())
	if err != nil {
		return v1.None{}, answer.OfStore(err, answer.NoContact)
	}
	leader, others := "", 0
	for i := range all {
		if all[i].Leads {
			leader = all[i].Name
		} else if !all[i].Gone() {
			others++
		}
	}
	if others == 0 {
		return v1.None{}, &federation.SlurmError{Kind: federation.ErrConflict, Text: "no other daemon stands by: see fed daemon list", Alone: true}
	}
	by := audit.Entry{Who: answer.By(c), Verb: "step-down", Kind: audit.Leader, Object: leader, Before: "leads", After: "stands by"}
	if err := s.store.Commit(r.Context(), &journal.Batch{Audit: []audit.Entry{by}}); err != nil {
		return v1.None{}, answer.OfStore(err, answer.TimedOut)
	}
	s.all.StepDown()
	return v1.None{}, nil
}
