package controller

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/decision"
)

// metrics of the controller. Labels are sites, states and kinds of calls: bounded sets.
type metrics struct {
	taken_      prometheus.Counter
	ended_      *prometheus.CounterVec
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
	running     runningMetrics
	waits       waitMetrics
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		taken_:      prometheus.NewCounter(prometheus.CounterOpts{Name: "fsub_jobs_taken_total", Help: "Jobs taken into the queue."}),
		ended_:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_jobs_ended_total", Help: "Jobs that ended, by state."}, []string{"state"}),
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
		running:     newRunningMetrics(r),
		waits:       newWaitMetrics(r),
	}
	if r != nil {
		r.MustRegister(m.taken_, m.ended_, m.queued_, m.answering_, m.breakers, m.conditions, m.calls, m.kinds, m.plans, m.decisions, m.faults, m.panics, m.asides, m.aside, m.expires, m.dropped, m.handedOver_, m.late_, m.found_, m.breaker_)
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

// answering notes whether a site answers. What is counted of it begins with 0: the first of what was not there before is no increase.
func (m *metrics) answering(s federation.SiteName, ok bool) {
	set(m.answering_.WithLabelValues(string(s)), ok)
	m.waits.bound.WithLabelValues(string(s))
	m.late_.WithLabelValues(string(s))
}

// runningMetrics are of running jobs.
type runningMetrics struct {
	idle, gangs  *prometheus.GaugeVec
	moves, saved *prometheus.CounterVec
}

func newRunningMetrics(r prometheus.Registerer) runningMetrics {
	m := runningMetrics{
		idle:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_site_gpus_idle_held", Help: "GPUs that running jobs hold and have left idle for as long as the rule idle-held says, of sites that can tell."}, []string{"site"}),
		gangs: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_site_gangs_by_heartbeat", Help: "Running jobs whose heartbeats show a node that is slower than the others (slow), or that none is written any more (hung)."}, []string{"site", "state"}),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_running_moves_total", Help: "Moves of running jobs that the planner has decided, by kind (window, price, gang) and action (on; dry: it was only told)."}, []string{"kind", "action"}),
		saved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fsub_running_moves_saved_dollars_total", Help: "What these moves save after what they cost, as it was expected."}, []string{"kind", "action"}),
	}
	if r != nil {
		r.MustRegister(m.idle, m.gangs, m.moves, m.saved)
	}
	return m
}

// departed notes that a running job is moved, or would be.
func (m *metrics) departed(d *decision.Moved, act string) {
	m.running.moves.WithLabelValues(d.Kind, act).Inc()
	m.running.saved.WithLabelValues(d.Kind, act).Add(max(float64(decision.Sum(d.Saves)-decision.Sum(d.Costs)), 0))
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
	case used:
		return "use"
	case saved:
		return "kept"
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
