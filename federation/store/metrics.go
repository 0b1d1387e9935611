package store

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics show how well callers share commits, and what a commit costs.
type metrics struct {
	group    prometheus.Histogram
	commit   prometheus.Histogram
	failures prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fsub_store_commit_writes", Help: "Writes that shared a transaction.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fsub_store_commit_seconds", Help: "Time of a transaction from begin to durable.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fsub_store_commit_failures_total", Help: "Transactions that the database could not make durable.",
		}),
	}
	if r != nil {
		m.group, m.commit, m.failures = register(r, m.group), register(r, m.commit), register(r, m.failures)
	}
	return m
}

// register returns c, or what stands for it in r already: a store may be opened again in one process.
func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	var already prometheus.AlreadyRegisteredError
	if errors.As(r.Register(c), &already) {
		if known, ok := already.ExistingCollector.(C); ok {
			return known
		}
	}
	return c
}
