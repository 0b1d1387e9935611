package daemon

import (
	"log/slog"

	"fsub/federation/measure"
	"fsub/federation/store"
)

// newCollector reads what ended jobs used, from the sites that can tell.
func newCollector(m *members, st *store.Store, log *slog.Logger) *measure.Collector {
	return measure.New(measure.Config{Store: st, Site: m.measurer, Logger: log})
}
