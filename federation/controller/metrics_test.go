package controller

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"fsub/federation"
	"fsub/federation/decision"
)

// TestForecastsAreCounted: a job counts with its first start only, and as kept if it started by the p90 that was foretold when it was given to the site.
func TestForecastsAreCounted(t *testing.T) {
	m := newWaitMetrics(prometheus.NewRegistry())
	submit := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	j := &federation.Job{ID: 1, Submit: submit}
	attempt := func(number int, waited time.Duration, f *decision.Foreseen) *federation.Attempt {
		created := submit.Add(time.Minute)
		return &federation.Attempt{Number: number, Site: "alpha", Created: created, Started: created.Add(waited), Decision: decision.Decision{Offers: []*decision.Offer{{Foreseen: f}}}}
	}
	f := &decision.Foreseen{P50: time.Minute, P90: time.Hour}
	again := attempt(1, time.Second, f)
	again.Restarts = 1
	notYet := attempt(1, 0, f)
	notYet.Started = time.Time{}
	for _, a := range []*federation.Attempt{attempt(1, 59*time.Minute, f), attempt(1, time.Hour, f), attempt(2, 61*time.Minute, f), attempt(1, time.Second, nil), again, notYet} {
		m.given(j, a)
		m.started(j, a)
	}
	for kept, want := range map[string]float64{"true": 2, "false": 1} {
		if n := testutil.ToFloat64(m.forecasts.WithLabelValues("alpha", kept)); n != want {
			t.Errorf("kept %s: %v, want %v", kept, n, want)
		}
	}
	if n := histogram(t, m.starts.WithLabelValues("alpha").(prometheus.Histogram)); n != 3 {
		t.Errorf("%d waits, want those of 3 first starts", n)
	}
	if n := histogram(t, m.placed); n != 5 {
		t.Errorf("%d placements, want those of 5 first attempts", n)
	}
}

func histogram(t *testing.T, h prometheus.Histogram) uint64 {
	t.Helper()
	var out dto.Metric
	if err := h.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetHistogram().GetSampleCount()
}
