package cloud

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"fsub/cloud/provider"
)

// clocked is a base whose clock is set by hand, and that writes nothing.
func clocked(now *time.Time) *base {
	b := newBase(Config{Site: "sky", Now: func() time.Time { return *now }, Timing: Timing{}.orDefault(), Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.ctx = ctx
	return b
}

// TestCoolDowns: a refusal keeps an offering from being asked for, the next one for twice as long; when it has passed one gang tries while the others wait for what
// that hears; and an answer forgives it.
func TestCoolDowns(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := &pool{}
	cs := newCooldowns(clocked(&now), &pools{all: []*pool{p}})
	woken := func() bool { was := p.woken; p.woken = false; return was }
	o := provider.Offering{ID: "g6/a/spot", Type: "g6", Zone: "a"}
	first, other := &gang{pool: p, gangRecord: gangRecord{Offering: o}}, &gang{pool: p, gangRecord: gangRecord{Offering: o}}
	refuse := &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeZone, Text: "none left"}
	for _, wait := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour} {
		if e, again := cs.mayCall(first, false); e != nil || again != 0 {
			t.Fatalf("before %s: %v, %s", wait, e, again)
		}
		if cs.callDone(first, refuse); !woken() {
			t.Error("claims are not looked at again")
		}
		if c := cs.cooling(&o, other); c == nil || c.Until.Sub(now) != wait {
			t.Fatalf("%+v, want %s", c, wait)
		}
		if e, _ := cs.mayCall(other, false); e == nil {
			t.Fatal("it may be asked for")
		}
		now = now.Add(wait)
	}
	if cs.passed(now, now.Add(-time.Second)); !woken() {
		t.Error("nobody was told that it has passed")
	}
	if e, wait := cs.mayCall(first, false); e != nil || wait != 0 {
		t.Fatal(e, wait)
	}
	if e, wait := cs.mayCall(other, false); e != nil || wait == 0 {
		t.Errorf("two try at once: %v, %s", e, wait)
	}
	if cs.callDone(first, nil); cs.cooling(&o, other) != nil {
		t.Error("an answer forgives nothing")
	}
}
