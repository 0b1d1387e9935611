// Package httpmetrics counts the requests that a server of ours answers, by route and class of status. Both are bounded sets: a route is a
// pattern or a word of ours, never a path.
package httpmetrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests are the metrics of one server.
type Requests struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// New registers NAMEs_total and NAME_seconds with r, which may be nil.
func New(r prometheus.Registerer, name, requests, seconds string, buckets []float64) *Requests {
	m := &Requests{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name + "s_total", Help: requests}, []string{"route", "status"}),
		seconds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name + "_seconds", Help: seconds, Buckets: buckets}, []string{"route"}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.seconds)
	}
	return m
}

var classes = [6]string{"gone", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Route returns a function that records one answered request. Code 0 means that the client went away. Rows of a route and of a status come with the first request
// that they count: a server has many routes, most of which nobody asks for.
func (m *Requests) Route(route string) func(code int, d time.Duration) {
	seconds := sync.OnceValue(func() prometheus.Observer { return m.seconds.WithLabelValues(route) })
	var counts [len(classes)]func() prometheus.Counter
	for i, class := range classes {
		counts[i] = sync.OnceValue(func() prometheus.Counter { return m.requests.WithLabelValues(route, class) })
	}
	return func(code int, d time.Duration) {
		seconds().Observe(d.Seconds())
		class := code / 100
		if class < 0 || class > 5 {
			class = 0
		}
		counts[class]().Inc()
	}
}
