package main

import (
	"log/slog"
	"time"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/ledger"
	"fsub/federation/store"
)

// Books is the ledger of what jobs used and cost, at all sites and whoever submitted them.
type Books struct {
	// How far back the accounting of a site is read when it is read for the first time.
	History time.Duration `yaml:"history,omitempty"`
}

// newLedger keeps the ledger from charges and from the accounting of the sites that have one.
func newLedger(c *Config, sites []controller.Site, st *store.Store, log *slog.Logger) *ledger.Collector {
	var all []ledger.Site
	for _, s := range sites {
		all = append(all, ledger.Site{Name: s.Name, Accounts: federation.AbilitiesOf(s.Driver).Accounts, Prices: s.Prices, Users: s.Users})
	}
	return ledger.New(ledger.Config{Store: st, Books: st, Sites: all, Logger: log, History: c.Books.History})
}
