package controller

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
)

// metrics of the controller. Labels are sites, states and kinds of calls: bounded sets.
type metrics struct {
	taken_      prometheus.Counter
	ended_      *prometheus.CounterVec
	bound_      *prometheus.CounterVec
	queued_     prometheus.Gauge
	answering_  *prometheus.GaugeVec
	breakers    *prometheus.GaugeVec
	conditions  *prometheus.GaugeVec
	calls       *prometheus.HistogramVec
	kinds       *prometheus.CounterVec
	plans       prometheus.Histogram
	decisions   prometheus.Counter
	faults      prometheus.Counter
	panics      prometheus.Counter
	asides      prometheus.Counter
	aside       prometheus.Gauge
	expires     *prometheus.GaugeVec
	dropped     prometheus.Counter
	handedOver_ prometheus.Histogram
	late_       *prometheus.CounterVec
	found_      *prometheus.CounterVec
	breaker_    *prometheus.GaugeVec
	waits       *prometheus.HistogramVec
	placed      prometheus.Histogram
	forecasts   *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		taken_:      prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_jobs_taken_total", Help: "Jobs taken into the queue."}),
		ended_:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_jobs_ended_total", Help: "Jobs that ended, by state."}, []string{"state"}),
		bound_:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_jobs_bound_total", Help: "Attempts, by site."}, []string{"site"}),
		queued_:     prometheus.NewGauge(prometheus.GaugeOpts{Name: "fsub_jobs_queued", Help: "Jobs that wait in the federation's queue; each task of an array counts."}),
		answering_:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_site_answering", Help: "1 if the site's last look and poll were good."}, []string{"site"}),
		breakers:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_site_breaker_open", Help: "1 while no calls but looks are made to a site, because it does not answer."}, []string{"site"}),
		conditions:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_site_condition", Help: "1 while a site is in a condition: see fed site show."}, []string{"site", "condition"}),
		calls:       prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fsub_site_call_seconds", Help: "Calls to drivers, by site.", Buckets: prometheus.ExponentialBuckets(0.004, 5, 7)}, []string{"site"}),
		kinds:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_site_calls_total", Help: "Calls to drivers, by site and kind."}, []string{"site", "kind"}),
		plans:       prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fsub_plan_seconds", Help: "Time to plan.", Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10)}),
		decisions:   prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_plan_decisions_total", Help: "Jobs that plans looked at."}),
		faults:      prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_placement_faults_total", Help: "Panics of placement; the log has their stacks."}),
		panics:      prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_controller_panics_total", Help: "Panics of rounds; the log has their stacks."}),
		asides:      prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_jobs_put_aside_total", Help: "Jobs that the daemon could not go on with, and left alone for a while."}),
		aside:       prometheus.NewGauge(prometheus.GaugeOpts{Name: "fsub_jobs_aside", Help: "Jobs that the daemon cannot go on with, and leaves alone for now."}),
		expires:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_site_token_expiry_timestamp_seconds", Help: "When the token for a site expires, of sites whose token is not made here."}, []string{"site"}),
		dropped:     prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_records_dropped_total", Help: "Records that the store can never take; the log has them."}),
		handedOver_: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fsub_handover_seconds", Help: "From the decision to send a job to a site until the site has acknowledged it.", Buckets: prometheus.ExponentialBuckets(0.005, 2, 16)}),
		late_:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_late_copies_total", Help: "Copies of jobs that arrived late at a site, and were cancelled."}, []string{"site"}),
		found_:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_health_findings_total", Help: "What rules of health have said, by rule and action, and whether it was denied."}, []string{"rule", "action", "denied"}),
		breaker_:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_health_breaker_open", Help: "1 if a breaker is open: nothing is drained automatically by its rule, or at its site."}, []string{"breaker"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fsub_job_wait_seconds", Help: "From the submission of a job until its first start, by site.",
			Buckets: waitBuckets}, []string{"site"}),
		placed: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fsub_job_place_seconds", Help: "From the submission of a job until it is given to a site for the first time.",
			Buckets: waitBuckets}),
		forecasts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_start_forecasts_total",
			Help: "Jobs that have started whose start was foretold, by whether they started by the p90: nine in ten should."}, []string{"site", "kept"}),
	}
	if r != nil {
		r.MustRegister(m.taken_, m.ended_, m.bound_, m.queued_, m.answering_, m.breakers, m.conditions, m.calls, m.kinds, m.plans, m.decisions, m.faults, m.panics, m.asides, m.aside, m.expires, m.dropped, m.handedOver_, m.late_, m.found_, m.breaker_, m.waits, m.placed, m.forecasts)
	}
	return m
}

func (m *metrics) taken()                     { m.taken_.Inc() }
func (m *metrics) ended(s federation.State)   { m.ended_.WithLabelValues(string(s)).Inc() }
func (m *metrics) late(s federation.SiteName) { m.late_.WithLabelValues(string(s)).Inc() }
func (m *metrics) queued(n int)               { m.queued_.Set(float64(n)) }
func (m *metrics) handedOver(d time.Duration) { m.handedOver_.Observe(d.Seconds()) }
func (m *metrics) planned(d time.Duration, jobs int) {
	m.plans.Observe(d.Seconds())
	m.decisions.Add(float64(jobs))
}
func (m *metrics) answering(s federation.SiteName, ok bool) {
	set(m.answering_.WithLabelValues(string(s)), ok)
}

func (m *metrics) breakerOpen(s federation.SiteName, open bool) {
	set(m.breakers.WithLabelValues(string(s)), open)
}
func (m *metrics) condition(s federation.SiteName, n federation.ConditionName, is bool) {
	set(m.conditions.WithLabelValues(string(s), string(n)), is)
}

// tokenExpires notes when the token for a site does; zero: it is renewed here.
func (m *metrics) tokenExpires(s federation.SiteName, at time.Time) {
	if at.IsZero() {
		m.expires.DeleteLabelValues(string(s))
		return
	}
	m.expires.WithLabelValues(string(s)).Set(float64(at.Unix()))
}

// waitBuckets are from seconds to a week. There are as many rows of them as buckets and sites.
var waitBuckets = []float64{5, 60, 600, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400}

// given takes in that a job is given to a site. Only the first time tells how long placement took.
func (m *metrics) given(j *federation.Job, a *federation.Attempt) {
	m.bound_.WithLabelValues(string(a.Site)).Inc()
	if a.Number == 1 {
		m.placed.Observe(max(a.Created.Sub(j.Submit), 0).Seconds())
	}
}

// started takes in that an attempt has started.
func (m *metrics) started(j *federation.Job, a *federation.Attempt) {
	if a.Started.IsZero() {
		return
	}
	if a.Number == 1 && a.Restarts == 0 {
		m.waits.WithLabelValues(string(a.Site)).Observe(max(a.Started.Sub(j.Submit), 0).Seconds())
	}
	if d := &a.Decision; a.Restarts == 0 && len(d.Offers) > 0 && d.Offers[0].Foreseen != nil {
		kept := !a.Started.After(a.Created.Add(d.Offers[0].Foreseen.P90))
		m.forecasts.WithLabelValues(string(a.Site), strconv.FormatBool(kept)).Inc()
	}
}

func set(g prometheus.Gauge, is bool) {
	v := 0.0
	if is {
		v = 1
	}
	g.Set(v)
}

// call times a call to a site until the function that it returns is called.
func (m *metrics) call(s federation.SiteName, kind any) func() {
	name := kindName(kind)
	began := time.Now()
	return func() {
		m.calls.WithLabelValues(string(s)).Observe(time.Since(began).Seconds())
		m.kinds.WithLabelValues(string(s), name).Inc()
	}
}

func kindName(kind any) string {
	switch kind.(type) {
	case observed:
		return "observe"
	case polled:
		return "poll"
	case submitted:
		return "submit"
	case lookedUp:
		return "lookup"
	case collected:
		return "collect"
	}
	return "act"
}
func (m *metrics) found(rule, act string, denied bool) {
	m.found_.WithLabelValues(rule, act, strconv.FormatBool(denied)).Inc()
}
func (m *metrics) breaker(name string, open bool) {
	v := 0.0
	if open {
		v = 1
	}
	m.breaker_.WithLabelValues(name).Set(v)
}
