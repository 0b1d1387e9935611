package provider

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// callMetrics count what was asked of clouds, by site, method and the kind of the answer: bounded sets all three.
type callMetrics struct {
	site    string
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// notAsked is the kind of a call that was not made, since the cloud wants to be left alone.
const notAsked ErrorKind = "not-asked"

func newCallMetrics(cfg WrapConfig) callMetrics {
	m := callMetrics{
		site: string(cfg.Site),
		calls: register(cfg.Registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fsub_cloud_calls_total", Help: "Calls to clouds, by site, method and kind of the answer (ok, or why not).",
		}, []string{"site", "method", "kind"})),
		seconds: register(cfg.Registerer, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fsub_cloud_call_seconds", Help: "Time of calls to clouds, by site and method.", Buckets: prometheus.ExponentialBuckets(0.005, 3, 10),
		}, []string{"site", "method"})),
	}
	return m
}

// register returns the collector, or the one of another site that is there already.
func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	if r == nil {
		return c
	}
	err := r.Register(c)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if old, ok := there.ExistingCollector.(C); ok {
			return old
		}
	}
	if err != nil {
		panic(err) // two different metrics of one name: a fault of the program
	}
	return c
}

func (m callMetrics) call(method string, kind ErrorKind, took time.Duration) {
	if kind == "" {
		kind = "ok"
	}
	m.calls.WithLabelValues(m.site, method, string(kind)).Inc()
	m.seconds.WithLabelValues(m.site, method).Observe(took.Seconds())
}

func (m callMetrics) refused(method string) {
	m.calls.WithLabelValues(m.site, method, string(notAsked)).Inc()
}
