package main

import (
	"log/slog"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/measure"
	"fsub/federation/store"
)

// newCollector reads what ended jobs used, from the sites that can tell.
func newCollector(sites []controller.Site, st *store.Store, log *slog.Logger) *measure.Collector {
	able := map[federation.SiteName]federation.Measurer{}
	for _, s := range sites {
		if can := federation.AbilitiesOf(s.Driver); can.Measure != nil {
			able[s.Name] = can.Measure
		}
	}
	return measure.New(measure.Config{Store: st, Usage: st, Sites: able, Logger: log})
}
