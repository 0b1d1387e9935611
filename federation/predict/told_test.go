package predict

import (
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// triedAfter is what a trial is told whose nodes are free by time limits after a wait, and that stands behind others.
func triedAfter(t *Told, wait time.Duration, now time.Time) decision.Trial {
	o := &decision.Offer{Site: "a", Start: now.Add(wait), Wait: wait}
	tr := decision.Trial{Decision: decision.Decision{Reason: reasons.Priority, Offers: []*decision.Offer{o}}, Site: "a", Start: o.Start}
	t.Correct(&tr, now)
	return tr
}

func tell(t *Told, id federation.JobID, wait time.Duration, now time.Time) {
	t.Tell(&decision.Decision{Job: id, Reason: reasons.Priority, Offers: []*decision.Offer{{Wait: wait}}}, now)
}

func TestTold(t *testing.T) {
	now, hour := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), 2*time.Hour
	told := &Told{}
	if tr := triedAfter(told, hour, now); !tr.Within.Equal(now.Add(3*hour)) || !tr.Start.Equal(now.Add(hour)) {
		t.Errorf("nothing is known: told a wait of %s, it starts after %s, in nine of ten cases within %s", hour, tr.Start.Sub(now), tr.Within.Sub(now))
	}
	if tr := triedAfter(told, 30*time.Second, now); !tr.Within.IsZero() || tr.Start.Sub(now) != 30*time.Second {
		t.Errorf("a wait of 30 s is told as %s, %s", tr.Start.Sub(now), tr.Within.Sub(now))
	}
	var kept []PastWait
	id := federation.JobID(1)
	for range 9000 { // each waits half as long as told
		tell(told, id, hour, now)
		tell(told, id, 10*hour, now) // the first word counts
		p := told.Started(id, now.Add(hour/2))
		if p == nil {
			t.Fatal("what was told is not kept")
		}
		kept = append(kept, *p)
		id++
	}
	now = now.Add(hour)
	is := triedAfter(told, hour, now)
	if got := is.Within.Sub(now); got != hour {
		t.Errorf("those told %s waited half as long: told %s in nine of ten cases", hour, got)
	}
	if o := is.Decision.Offers[0]; o.Foreseen.Starts != toldKept || !strings.HasSuffix(o.Foreseen.Of, "half of 4000 that were told as long waited 1h0m0s") || o.Begins() != (decision.Start{Site: "a", At: is.Start, Within: is.Within, Of: o.Foreseen.Of, Price: o.Price()}) {
		t.Errorf("the offer says %+v of %d starts, the trial %s and %s", o.Begins(), o.Foreseen.Starts, is.Start, is.Within)
	}
	again := &Told{}
	for i := range kept {
		again.restore(&kept[i])
	}
	if was := triedAfter(again, hour, now); was.Start != is.Start || was.Within != is.Within {
		t.Errorf("after a restart told %s and %s, before %s and %s", was.Start, was.Within, is.Start, is.Within)
	}

	// Those that wait for long say so before they have started, unless they wait for something else.
	for range 2000 {
		tell(told, id, hour, now)
		id++
	}
	now = now.Add(5 * hour)
	if got := triedAfter(told, hour, now).Within.Sub(now); got < 3*hour {
		t.Errorf("2000 of 6000 have waited five times as long as told: nine in ten within %s", got)
	}
	for i := range federation.JobID(2000) {
		told.Waits(id-1-i, reasons.HeldUser)
	}
	now = now.Add(toldFor)
	if got := triedAfter(told, hour, now).Within.Sub(now); got > hour {
		t.Errorf("those that waited longer were held: nine in ten within %s", got)
	}
	if n := told.open.Len(); n != 0 {
		t.Errorf("%d are still followed", n)
	}

	// A machine that boots is not waited for by limits.
	tell(told, id, hour, now)
	told.Forget(id)
	told.Tell(&decision.Decision{Job: id, Reason: reasons.Priority, Offers: []*decision.Offer{{Wait: hour, Offering: "a2"}}}, now)
	if told.Started(id, now) != nil {
		t.Error("the boot of a machine is followed")
	}

	// What a site's queue tells stays as it is.
	o := &decision.Offer{Site: "a", Start: now.Add(hour), Wait: hour, Foreseen: &decision.Foreseen{P50: hour, P90: 2 * hour}}
	tr := decision.Trial{Decision: decision.Decision{Reason: reasons.Priority, Offers: []*decision.Offer{o}}, Site: "a", Start: o.Start}
	if told.Correct(&tr, now); tr.Decision.Offers[0] != o || tr.Start != o.Start {
		t.Error("a forecast of a queue is corrected")
	}
}

// TestSurvived: of waits that all have ended it is their quantile; those that last yet say that it is no less.
func TestSurvived(t *testing.T) {
	for _, c := range []struct {
		shares []share
		want   float64
	}{
		{[]share{{1, 1, true}, {2, 1, true}, {3, 1, true}, {4, 1, true}}, 2},
		{[]share{{1, 3, true}, {2, 1, true}}, 1},
		{[]share{{1, 1, true}, {2, 1, true}, {3, 1, false}, {3, 1, false}, {4, 1, true}}, 4},
		{[]share{{1, 1, true}, {.5, 9, false}}, 1},
		{[]share{{5, 1, false}}, 5},
	} {
		if got := survived(c.shares, .5); got != c.want {
			t.Errorf("of %v half survive %v, want %v", c.shares, got, c.want)
		}
	}
}
