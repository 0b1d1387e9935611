package controller

import (
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// TestLeaves: each thing that a job is not given comes back in its own time, and a whole site stands for all that is rented there.
func TestLeaves(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	offer := func(id, zone, market string) *decision.Offer {
		return &decision.Offer{Site: "aws", Offering: id, Zone: zone, Market: market}
	}
	spot := func() *job {
		return &job{tried: &tried{att: &federation.Attempt{Site: "aws", Decision: decision.Decision{Offers: []*decision.Offer{offer("x/a/spot", "a", "spot")}}}}, hindered: &notHindered}
	}
	j := spot()
	j.leaveZone(now)
	j.leaveGivenBack(decision.Rejection{Site: "aws", Reason: reasons.StockOut, Detail: "none left"}, now.Add(time.Second))
	r := j.refused["aws"]
	if len(r.Parts) != 2 || r.Parts[0].What != "a" || r.Parts[0].Why == nil || r.Parts[1].What != "x/a/spot" || r.Parts[1].Detail != "none left" || j.leavesSite("aws", now) || !j.refusedUntil.Equal(now.Add(time.Second)) {
		t.Fatalf("%+v until %v", r, j.refusedUntil)
	}
	if j.comesBack(now) {
		t.Error("too early")
	}
	if now = now.Add(time.Second); !j.comesBack(now) || len(j.refused["aws"].Parts) != 1 || j.refused["aws"].Parts[0].What != "a" {
		t.Errorf("what it was given back for has passed, the zone has not: %+v", j.refused)
	}
	j.leaveZone(now.Add(time.Minute)) // again: it is left for longer, and is there once
	j.leaveOut(decision.Rejection{Site: "aws", Reason: reasons.Refused}, now.Add(time.Hour))
	if r := j.refused["aws"]; len(r.Parts) != 0 || r.Reason != reasons.Refused || !j.leavesSite("aws", now) || len(j.leaves) != 2 {
		t.Errorf("%+v of %d", r, len(j.leaves))
	}
	if now = now.Add(2 * time.Hour); !j.comesBack(now) || j.refused != nil || j.leavesSite("aws", now) || j.comesBack(now) {
		t.Errorf("all has passed: %+v", j.refused)
	}
	for reason, whole := range map[reasons.Reason]bool{reasons.Budget: true, reasons.Quota: false, reasons.Price: false} {
		j := spot()
		j.leaveGivenBack(decision.Rejection{Site: "aws", Reason: reason}, now.Add(time.Second))
		if j.leavesSite("aws", now) != whole {
			t.Errorf("given back for %s: %+v", reason, j.refused)
		}
	}
	j = spot()
	a, b, onDemand := offer("x/a/spot", "a", "spot"), offer("x/b/spot", "b", "spot"), offer("x/a/on-demand", "a", "on-demand")
	j.leaveZone(now)
	among := func(offers ...*decision.Offer) decision.Decision { return decision.Decision{Offers: offers} }
	if j.keepOne(among(a, b)); len(j.leaves) != 1 || !j.leaves[0].until.Equal(now.Add(takenFor)) {
		t.Errorf("there is another zone: %+v", j.leaves)
	}
	j.att.Decision.Offers[0] = b
	j.leaveZone(now.Add(time.Minute))
	if j.keepOne(among(a, b, onDemand)); len(j.leaves) != 2 {
		t.Errorf("there are machines on demand: %+v", j.leaves)
	}
	dry := decision.Rejection{Site: "aws", Pool: "main/x/c/spot", Reason: reasons.StockOut, Why: codes.Because(codes.NodesToBeHad, "1", "0", "4")}
	if j.keepOne(decision.Decision{Offers: []*decision.Offer{a, b}, Rejections: []decision.Rejection{dry}}); len(j.leaves) != 2 {
		t.Errorf("the third zone is dry for now: %+v", j.leaves)
	}
	dry.Pool = "main/x/b/spot"
	if j.keepOne(decision.Decision{Offers: []*decision.Offer{a}, Rejections: []decision.Rejection{dry}}); len(j.leaves) != 1 || j.leaves[0].what != "b" || len(j.refused["aws"].Parts) != 1 {
		t.Errorf("taken everywhere, and in a longest ago: %+v", j.leaves)
	}
	if j.keepOne(among(a)); len(j.leaves) != 1 {
		t.Errorf("nothing was taken in a: %+v", j.leaves)
	}
	if j.keepOne(among(b)); len(j.leaves) != 0 || j.refused != nil {
		t.Errorf("there is b only: %+v", j.leaves)
	}
	j = spot()
	j.att.Decision.Offers[0].Market = "on-demand"
	if j.leaveZone(now); j.refused != nil {
		t.Errorf("a machine on demand was taken by nobody's market: %+v", j.refused)
	}
	j.att.Decision.Offers[0] = &decision.Offer{Site: "aws", Parts: []decision.Offer{*offer("x/a/spot", "a", "spot"), *offer("y//spot", "", "spot")}}
	if j.leaveZone(now); len(j.refused["aws"].Parts) != 2 || j.refused["aws"].Parts[1].What != "y//spot" {
		t.Errorf("components: %+v", j.refused)
	}
}
