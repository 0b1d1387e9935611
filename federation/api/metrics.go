package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts requests by route and class of status. Both are bounded sets: the route is a pattern of ours, never a path.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fsub_api_requests_total",
			Help: "Requests answered, by route and class of status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "fsub_api_request_seconds",
			Help:    "Time to answer a request, by route.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, 1, 5},
		}, []string{"route"}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.seconds)
	}
	return m
}

// route returns what records one answered request of a pattern.
func (m *metrics) route(pattern string) func(code int, d time.Duration) {
	seconds := m.seconds.WithLabelValues(pattern)
	counts := [6]prometheus.Counter{}
	for i, class := range [6]string{"", "", "2xx", "3xx", "4xx", "5xx"} {
		if class != "" {
			counts[i] = m.requests.WithLabelValues(pattern, class)
		}
	}
	return func(code int, d time.Duration) {
		seconds.Observe(d.Seconds())
		if i := code / 100; i >= 2 && i <= 5 {
			counts[i].Inc()
		}
	}
}

func metricsHandler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{})
}
