package agentserver

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests by the first element of their path below /agent/v1/ and by class of status.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fsub_agent_requests_total",
			Help: "Requests of agents, by route and class of status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fsub_agent_request_seconds",
			Help:    "Time to answer an agent's request, by route. Polls mostly wait.",
			Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60},
		}, []string{"route"}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.seconds)
	}
	return m
}

// route returns a function that records one request. Code 0 means that the client went away.
func (m *metrics) route(name string) func(code int, d time.Duration) {
	seconds := m.seconds.WithLabelValues(name)
	return func(code int, d time.Duration) {
		seconds.Observe(d.Seconds())
		class := "gone"
		if code >= 100 && code < 600 {
			class = fmt.Sprintf("%dxx", code/100)
		}
		m.requests.WithLabelValues(name, class).Inc()
	}
}
