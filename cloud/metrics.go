package cloud

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
)

// metrics of one site. Labels are pools, states and kinds: bounded sets.
type metrics struct {
	machines *prometheus.GaugeVec
	silent   *prometheus.GaugeVec
	creates  *prometheus.CounterVec
	cools    *prometheus.CounterVec
	lists    *prometheus.CounterVec
	notices  *prometheus.CounterVec
	boots    prometheus.Histogram
	dollars  *prometheus.CounterVec
	idle     *prometheus.CounterVec
	losses   *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, site federation.SiteName) *metrics {
	labels := prometheus.Labels{"site": string(site)}
	counter := func(name, help string, by ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, by)
	}
	m := &metrics{
		machines: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_machines", Help: "Rented machines, by pool and state.", ConstLabels: labels}, []string{"pool", "state"}),
		silent: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "fsub_agents_silent", Help: "Machines that are up whose agents were not heard for half of the time after which they count as lost, by pool.",
			ConstLabels: labels}, []string{"pool"}),
		creates: counter("fsub_machine_creates_total", "Requests for machines, by what came of them.", "result"),
		cools:   counter("fsub_cloud_cooldowns_total", "Refusals that were remembered, by kind.", "kind"),
		lists:   counter("fsub_cloud_lists_total", "Listings of machines, by what came of them.", "result"),
		notices: counter("fsub_machine_notices_total", "Announcements that a machine will be taken, by kind.", "kind"),
		boots: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fsub_machine_boot_seconds", Help: "From the decision to rent a machine to its first word.",
			Buckets: prometheus.ExponentialBuckets(0.02, 2.5, 12), ConstLabels: labels}),
		dollars: counter("fsub_machine_dollars_total", "What machines that have ended had cost, by pool.", "pool"),
		idle:    counter("fsub_machine_idle_dollars_total", "What of that no job is charged: it is for machines that start or have no job, by pool.", "pool"),
		losses:  counter("fsub_gang_losses_total", "Machines that jobs have lost without their end, by what the jobs do: wait for another one, or shrink.", "then"),
	}
	for _, k := range []provider.ErrorKind{provider.KindStockOut, provider.KindQuota, provider.KindDenied} {
		m.cools.WithLabelValues(string(k)) // the first of what was not there before is no increase
	}
	if r != nil {
		r.MustRegister(m.machines, m.silent, m.creates, m.cools, m.lists, m.notices, m.boots, m.dollars, m.idle, m.losses)
	}
	return m
}

func result(err error) string {
	if err == nil {
		return "ok"
	}
	return string(provider.AsError(err).Kind)
}

func (m *metrics) create(err error)             { m.creates.WithLabelValues(result(err)).Inc() }
func (m *metrics) listed(err error)             { m.lists.WithLabelValues(result(err)).Inc() }
func (m *metrics) cooling(k provider.ErrorKind) { m.cools.WithLabelValues(string(k)).Inc() }
func (m *metrics) notice(k agentapi.NoticeKind) { m.notices.WithLabelValues(string(k)).Inc() }
func (m *metrics) booted(after time.Duration)   { m.boots.Observe(after.Seconds()) }
func (m *metrics) machineEnded(k *machine) {
	m.dollars.WithLabelValues(k.Pool).Add(max(k.Cost.Dollars(), 0))
	m.idle.WithLabelValues(k.Pool).Add(max(float64(k.IdleCost), 0))
}

// look counts the machines.
func (m *metrics) look(f *fleet, now time.Time) {
	for _, p := range f.pools.all {
		count := map[machineState]int{machineAsked: 0, machineBooting: 0, machineUp: 0, machineEnding: 0}
		silent := 0
		for _, ng := range p.groups {
			for _, k := range ng.machines {
				count[k.State]++
				if k.State == machineUp && k.silent(now, f.t.Margin) {
					silent++
				}
			}
		}
		m.silent.WithLabelValues(p.Name).Set(float64(silent))
		for state, n := range count {
			m.machines.WithLabelValues(p.Name, string(state)).Set(float64(n))
		}
	}
}
