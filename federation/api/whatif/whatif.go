// Package whatif answers what would become of the jobs that wait if something were different. [WhatIf] is all there is.
package whatif

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/refusal"
	v1 "fsub/federation/api/v1"
	"fsub/federation/place"
	"fsub/federation/share"
	"fsub/federation/whatif"
)

// Foreseer knows the federation as it is.
type Foreseer interface {
	Prospects(ctx context.Context, most int) (*federation.Prospects, error)
}

// WhatIf answers for a Foreseer. One question is worked out at a time.
type WhatIf struct {
	Foreseer Foreseer // nil: there is none
	Policy   place.Policy

	busy sync.Mutex
}

const (
	usualJobs, mostJobs   = 2000, 20_000
	usualHours, mostHours = 30 * 24, 365 * 24
	// patience is how long one question may take.
	patience = time.Minute
)

// Ask is POST /fed/v1/what-if.
func (a *WhatIf) Ask(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	var q v1.WhatIf
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return refusal.BadBody("the body is no WhatIf: " + err.Error())
	}
	switch {
	case q.Jobs < 0 || q.Jobs > mostJobs:
		return invalid("invalid jobs %d: want 1 to %d, or 0 for %d", q.Jobs, mostJobs, usualJobs)
	case q.Hours < 0 || q.Hours > mostHours:
		return invalid("invalid hours %d: want 1 to %d, or 0 for %d", q.Hours, mostHours, usualHours)
	}
	if q.Jobs == 0 {
		q.Jobs = usualJobs
	}
	if q.Hours == 0 {
		q.Hours = usualHours
	}
	e := whatif.Edit{Drain: q.Drain, Resume: q.Resume, Add: q.Add, Site: q.Site, Price: q.Price, Policy: q.Policy, Lift: q.Lift, Limit: q.Limit, QOS: q.QOSLimit}
	if e.Empty() {
		return invalid("nothing would be different: name something to drain, resume, add, price, lift, limit, or of the policy")
	}
	if !a.busy.TryLock() {
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: "another question of this kind is being worked out; try again in a minute"}
	}
	defer a.busy.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if a.Foreseer == nil {
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: "this daemon cannot forecast"}
	}
	o, err := a.Foreseer.Prospects(ctx, q.Jobs)
	if err != nil {
		return refusal.TimedOut
	}
	again := share.Idle(ctx) // for up to a minute, and one at a time
	got, err := whatif.Compare(o, e, a.Policy, time.Duration(q.Hours)*time.Hour, ctx.Done())
	again()
	switch {
	case errors.Is(err, whatif.ErrTooMuch):
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: err.Error()}
	case err != nil:
		return invalid("%w", err)
	}
	return answer.JSON(w, wire(got))
}

// invalid is a question that can be read, and not be answered. Slurm has no sentence for it.
func invalid(format string, args ...any) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: fmt.Errorf(format, args...).Error()}
}

func wire(a *whatif.Answer) v1.WhatIfAnswer {
	out := v1.WhatIfAnswer{Now: a.Now.UTC(), Until: a.Until.UTC(), Jobs: a.Jobs, More: a.More, StartBefore: a.StartBefore, StartAfter: a.StartAfter,
		MeanWaitBefore: a.MeanWaitBefore.Seconds(), MeanWaitAfter: a.MeanWaitAfter.Seconds(), CostBefore: a.CostBefore, CostAfter: a.CostAfter, Changes: []v1.WhatIfChange{}}
	for i := range a.Changes {
		c := &a.Changes[i]
		out.Changes = append(out.Changes, v1.WhatIfChange{Job: c.Job.ID, Name: c.Job.Spec.Name, User: c.Job.User, Account: c.Job.Spec.Account, Before: fate(c.Before), After: fate(c.After)})
	}
	return out
}

func fate(f whatif.Fate) v1.WhatIfFate {
	w := v1.WhatIfFate{Site: f.Site, Pool: f.Pool, Cost: f.Cost, Reason: f.Reason, Limited: f.Limited}
	if !f.Start.IsZero() {
		start := f.Start.UTC()
		w.Start = &start
	}
	return w
}
