package api

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
	v1 "fsub/federation/api/v1"
	"fsub/federation/place"
	"fsub/federation/share"
	"fsub/federation/whatif"
)

// foreseer knows the federation as it is.
type foreseer interface {
	Prospects(ctx context.Context, most int) (*federation.Prospects, error)
}

// whatIf answers for a foreseer. One question is worked out at a time. Operators are told of all jobs, others of their own alone, and they may not ask about
// limits and budgets, whose answers would tell how those of others stand.
type whatIf struct {
	Foreseer foreseer // nil: there is none
	Policy   place.Policy

	busy sync.Mutex

	mu    sync.Mutex
	asked map[uint32]time.Time // when users who are no operators asked last
}

const (
	usualJobs, mostJobs   = 2000, 20_000
	usualHours, mostHours = 30 * 24, 365 * 24
	// patience is how long one question may take; of a user who is no operator, so that others get their turn, and he may ask one in userEvery.
	patience, userPatience = time.Minute, 10 * time.Second
	userEvery              = 15 * time.Second
)

// Ask is POST /fed/v1/what-if.
func (a *whatIf) Ask(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if c.Claim != nil {
		return answer.Denied // jobs have no such questions
	}
	var q v1.WhatIf
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		return answer.BadBody("invalid request body: " + err.Error())
	}
	switch {
	case q.Jobs < 0 || q.Jobs > mostJobs:
		return invalidWhatIf("invalid jobs %d: want 1 to %d, or 0 for %d", q.Jobs, mostJobs, usualJobs)
	case c.Role < identity.RoleOperator && len(q.Lift)+len(q.Limit)+len(q.QOSLimit) > 0:
		return &federation.SlurmError{Kind: federation.ErrDenied, Text: "only operators may ask what other limits and budgets would bring: their answers tell how those of others stand"}
	case c.Role < identity.RoleOperator && (q.Jobs > usualJobs || q.Hours > usualHours):
		return invalidWhatIf("at most %d jobs and %d hours for users who are not operators", usualJobs, usualHours)
	case q.Hours < 0 || q.Hours > mostHours:
		return invalidWhatIf("invalid hours %d: want 1 to %d, or 0 for %d", q.Hours, mostHours, usualHours)
	}
	if q.Jobs == 0 {
		q.Jobs = usualJobs
	}
	if q.Hours == 0 {
		q.Hours = usualHours
	}
	e := whatif.Edit{Drain: q.Drain, Resume: q.Resume, Add: q.Add, Site: q.Site, Price: q.Price, Policy: q.Policy, Lift: q.Lift, Limit: q.Limit, QOS: q.QOSLimit}
	if e.Empty() {
		return invalidWhatIf("nothing would be different: name something to drain, resume, add, price, lift, limit, or of the policy")
	}
	within := patience
	var told func(*federation.Job) bool
	if c.Role < identity.RoleOperator {
		within, told = userPatience, func(j *federation.Job) bool { return j.UID == c.UID }
		if wait := a.tooSoon(c.UID, time.Now()); wait > 0 {
			return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: fmt.Sprintf("one question in %s: ask again in %s", userEvery, wait.Round(time.Second))}
		}
	}
	if !a.busy.TryLock() {
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: "another question of this kind is being worked out; try again in a minute"}
	}
	defer a.busy.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), within)
	defer cancel()
	if a.Foreseer == nil {
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: "this daemon cannot forecast"}
	}
	o, err := a.Foreseer.Prospects(ctx, q.Jobs)
	if err != nil {
		return answer.TimedOut
	}
	again := share.Idle(ctx) // for up to a minute, and one at a time
	got, err := whatif.Compare(o, e, a.Policy, time.Duration(q.Hours)*time.Hour, told, ctx.Done())
	again()
	switch {
	case errors.Is(err, whatif.ErrTooMuch):
		return &federation.SlurmError{Kind: federation.ErrUnavailable, Text: err.Error()}
	case err != nil:
		return invalidWhatIf("%w", err)
	}
	return answer.JSON(w, whatIfAnswer(got))
}

// tooSoon notes that a user asks, or says how long he has to wait until he may again.
func (a *whatIf) tooSoon(uid uint32, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	for u, at := range a.asked {
		if now.Sub(at) >= userEvery {
			delete(a.asked, u)
		}
	}
	if at, is := a.asked[uid]; is {
		return userEvery - now.Sub(at)
	}
	if a.asked == nil {
		a.asked = map[uint32]time.Time{}
	}
	a.asked[uid] = now
	return 0
}

// invalidWhatIf is a question that can be read, and not be answered. Slurm has no sentence for it.
func invalidWhatIf(format string, args ...any) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Text: fmt.Errorf(format, args...).Error()}
}

func whatIfAnswer(a *whatif.Answer) v1.WhatIfAnswer {
	out := v1.WhatIfAnswer{Now: a.Now.UTC(), Until: a.Until.UTC(), Jobs: a.Jobs, More: a.More, StartBefore: a.StartBefore, StartAfter: a.StartAfter,
		MeanWaitBefore: a.MeanWaitBefore.Seconds(), MeanWaitAfter: a.MeanWaitAfter.Seconds(), CostBefore: a.CostBefore, CostAfter: a.CostAfter, Changes: []v1.WhatIfChange{}}
	for i := range a.Changes {
		c := &a.Changes[i]
		out.Changes = append(out.Changes, v1.WhatIfChange{Job: c.Job.ID, Name: c.Job.Spec.Name, User: c.Job.User, Account: c.Job.Spec.Account, Before: whatIfFate(c.Before), After: whatIfFate(c.After)})
	}
	return out
}

func whatIfFate(f whatif.Fate) v1.WhatIfFate {
	w := v1.WhatIfFate{Site: f.Site, Pool: f.Pool, Cost: f.Cost, Reason: f.Reason, Limited: f.Limited}
	if !f.Start.IsZero() {
		start := f.Start.UTC()
		w.Start = &start
	}
	return w
}
