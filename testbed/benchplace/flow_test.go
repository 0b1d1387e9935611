package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/replay"
	"fsub/federation/replay/trace"
)

// Two jobs of an hour on the one GPU that is owned: if both end after an hour, one has to be rented; if one may end half an hour later, half of that.
func TestLeastRented(t *testing.T) {
	begin := time.Unix(1e9, 0)
	for wait, want := range map[time.Duration]float64{0: 1, 30 * time.Minute: .5, time.Hour: 0} {
		r := replay.Result{Begin: begin}
		for i, w := range []time.Duration{0, wait} {
			r.Jobs = append(r.Jobs, replay.Outcome{Job: &federation.Job{ID: federation.JobID(i + 1)}, Submit: begin, Start: begin.Add(w), End: begin.Add(w + time.Hour), GPUs: 1})
		}
		if got := leastRented(&r, 1); math.Abs(got-want) > 1e-6 {
			t.Errorf("after a wait of %s at least %v GPU-hours are rented, want %v", wait, got, want)
		}
	}
}

// By Armada's rule the account that holds fewest GPUs comes first, what does not fit is passed over, and gangs do not span clusters.
func TestDRF(t *testing.T) {
	jobs, _, err := trace.From(strings.NewReader("submit_time_s,duration_s,gpus,user\n0,600,8,a\n0,600,8,a\n0,1200,4,b\n0,600,16,a\n0,60,4,b\n"), "test", trace.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := drf(jobs, []int{1, 2}, 0), []time.Duration{0, 0, 0, 20 * time.Minute, 0}; !slices.Equal(got, want) {
		t.Errorf("jobs wait %v, want %v", got, want)
	}
}
