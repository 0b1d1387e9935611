package daemon

import "github.com/prometheus/client_golang/prometheus"

// registered registers metrics, and lets go of them when what they count ends before the daemon.
type registered struct {
	prometheus.Registerer
	all []prometheus.Collector
}

// Register implements [prometheus.Registerer].
func (r *registered) Register(c prometheus.Collector) error {
	err := r.Registerer.Register(c)
	if err == nil {
		r.all = append(r.all, c)
	}
	return err
}

// MustRegister implements [prometheus.Registerer].
func (r *registered) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// end unregisters all.
func (r *registered) end() {
	for _, c := range r.all {
		r.Unregister(c)
	}
	r.all = nil
}
