package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/place"
	"fsub/federation/replay"
	"fsub/sbatch"
)

// twoUsers is a site that two jobs wait for, of two users.
type twoUsers struct{}

func (twoUsers) Prospects(context.Context, int) (*federation.Prospects, error) {
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	site, err := replay.ParseSite("rhein=1x8:h100,price=2")
	if err != nil {
		return nil, err
	}
	o := &federation.Prospects{Now: now, Sites: []*federation.Site{site}}
	for i, user := range []string{"alice", "bob"} {
		j := &federation.Job{ID: federation.JobID(100 + i), UID: uint32(7001 + i), User: user, State: federation.Pending, Submit: now}
		j.SetSpec(sbatch.Spec{GPUsPerNode: "8", MinNodes: 1, MaxNodes: 1, MemPerNode: 1, TimeLimit: time.Hour})
		o.Waiting = append(o.Waiting, federation.Prospect{Job: j})
	}
	return o, nil
}

// A user is told of his own jobs alone, not of limits, and asks once in a while; operators are told of all.
func TestUsersAskAboutTheirOwnJobs(t *testing.T) {
	a := &whatIf{Foreseer: twoUsers{}, Policy: place.DefaultPolicy()}
	ask := func(c identity.Caller, q v1.WhatIf) (out v1.WhatIfAnswer, err error) {
		body, _ := json.Marshal(q)
		w := httptest.NewRecorder()
		err = a.Ask(w, httptest.NewRequest("POST", "/fed/v1/what-if", bytes.NewReader(body)), c)
		if err == nil {
			err = json.Unmarshal(w.Body.Bytes(), &out)
		}
		return out, err
	}
	alice, olga := identity.Caller{Name: "alice", UID: 7001}, identity.Caller{Name: "olga", UID: 7009, Role: identity.RoleOperator}
	drain := v1.WhatIf{Drain: []string{"rhein"}}
	if got, err := ask(alice, drain); err != nil || got.Jobs != 1 || len(got.Changes) != 1 || got.Changes[0].User != "alice" {
		t.Errorf("alice is told %+v, %v", got, err)
	}
	if _, err := ask(alice, drain); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("at once again: %v", err)
	}
	if _, err := ask(identity.Caller{Name: "bob", UID: 7002}, v1.WhatIf{Lift: []string{"physics"}}); !errors.Is(err, federation.ErrDenied) {
		t.Errorf("about a limit: %v", err)
	}
	if _, err := ask(identity.Caller{Name: "bob", UID: 7002, Claim: &identity.JobClaim{}}, drain); err == nil {
		t.Error("a job asks")
	}
	for range 2 {
		if got, err := ask(olga, drain); err != nil || got.Jobs != 2 {
			t.Errorf("an operator is told %+v, %v", got, err)
		}
	}
}
