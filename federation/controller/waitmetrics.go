package controller

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
)

// waitMetrics tell how long jobs wait, and how well that was foretold.
type waitMetrics struct {
	bound     *prometheus.CounterVec
	placed    prometheus.Histogram
	starts    *prometheus.HistogramVec
	forecasts *prometheus.CounterVec
}

// waitBuckets are from seconds to a week. There are as many rows of them as buckets and sites.
var waitBuckets = []float64{5, 60, 600, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400}

func newWaitMetrics(r prometheus.Registerer) waitMetrics {
	m := waitMetrics{
		bound: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_jobs_bound_total", Help: "Attempts, by site."}, []string{"site"}),
		starts: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fsub_job_wait_seconds", Help: "From the submission of a job until its first start, by site.",
			Buckets: waitBuckets}, []string{"site"}),
		placed: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fsub_job_place_seconds", Help: "From the submission of a job until it is given to a site for the first time.",
			Buckets: waitBuckets}),
		forecasts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_start_forecasts_total",
			Help: "Jobs that started after a forecast of their start, by whether they did before its 90th percentile: nine in ten should."}, []string{"site", "kept"}),
	}
	if r != nil {
		r.MustRegister(m.bound, m.starts, m.placed, m.forecasts)
	}
	return m
}

// given takes in that a job is given to a site. Only the first time tells how long placement took.
func (m *waitMetrics) given(j *federation.Job, a *federation.Attempt) {
	m.bound.WithLabelValues(string(a.Site)).Inc()
	if a.Number == 1 {
		m.placed.Observe(max(a.Created.Sub(j.Submit), 0).Seconds())
	}
}

// started takes in that an attempt has started.
func (m *waitMetrics) started(j *federation.Job, a *federation.Attempt) {
	if a.Started.IsZero() {
		return
	}
	if a.Number == 1 && a.Restarts == 0 {
		m.starts.WithLabelValues(string(a.Site)).Observe(max(a.Started.Sub(j.Submit), 0).Seconds())
	}
	if d := &a.Decision; a.Restarts == 0 && len(d.Offers) > 0 && d.Offers[0].Foreseen != nil {
		kept := !a.Started.After(a.Created.Add(d.Offers[0].Foreseen.P90))
		m.forecasts.WithLabelValues(string(a.Site), strconv.FormatBool(kept)).Inc()
	}
}
