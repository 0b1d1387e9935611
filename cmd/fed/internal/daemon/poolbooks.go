package daemon

import (
	"context"
	"log/slog"
	"time"

	"fsub/cloud"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/driver"
)

// poolBooks tells of all rented pools: how they stand from their drivers, which machines there were
// from the store.
type poolBooks struct {
	tellers []driver.PoolTeller
	retries map[federation.SiteName]driver.PoolTeller
	steps   []driver.StepTeller
	signals map[federation.SiteName]driver.StepSignaller
	// connects are the sites that reach what runs there.
	connects map[federation.SiteName]driver.Connector
	// suspends are the sites that can suspend jobs.
	suspends map[federation.SiteName]bool
	store    records.PoolStore
	log      *slog.Logger
}

func newPoolBooks(sites []controller.Site, st records.PoolStore, log *slog.Logger) *poolBooks {
	b := &poolBooks{store: st, log: log, signals: map[federation.SiteName]driver.StepSignaller{}, retries: map[federation.SiteName]driver.PoolTeller{},
		connects: map[federation.SiteName]driver.Connector{}, suspends: map[federation.SiteName]bool{}}
	for _, s := range sites {
		can := driver.AbilitiesOf(s.Driver)
		if can.Pools != nil {
			b.tellers = append(b.tellers, can.Pools)
			b.retries[s.Name] = can.Pools
		}
		if can.Steps != nil {
			b.steps = append(b.steps, can.Steps)
		}
		if can.SignalStep != nil {
			b.signals[s.Name] = can.SignalStep
		}
		if can.Connect != nil {
			b.connects[s.Name] = can.Connect
		}
		b.suspends[s.Name] = can.Suspend != nil
	}
	return b
}

func (b *poolBooks) Pools() []driver.PoolStatus {
	var all []driver.PoolStatus
	for _, t := range b.tellers {
		all = append(all, t.Pools()...)
	}
	return all
}

func (b *poolBooks) Retry(ctx context.Context, site federation.SiteName) ([]driver.Cooling, error) {
	t := b.retries[site]
	if t == nil {
		return nil, federation.ErrNotFound
	}
	return t.Retry(ctx)
}

// Steps implements driver.StepTeller for all sites.
func (b *poolBooks) Steps(jobs []federation.JobID, ended bool) (all []driver.LiveStep) {
	for _, t := range b.steps {
		all = append(all, t.Steps(jobs, ended)...)
	}
	return all
}

// Machines leaves out records that it cannot read: one is not a reason to show none.
func (b *poolBooks) Machines(ctx context.Context, site federation.SiteName, since time.Time, limit int) ([]driver.Machine, error) {
	records, err := b.store.PoolHistory(ctx, site, records.PoolMachine, since, limit)
	if err != nil {
		return nil, err
	}
	all, now := make([]driver.Machine, 0, len(records)), time.Now()
	for i := range records {
		m, err := cloud.MachineOf(records[i], now)
		if err != nil {
			b.log.Error("read the records of machines", "site", records[i].Site, "err", err)
			continue
		}
		for _, t := range b.tellers {
			if now, ok := t.Machine(m.ID); ok {
				m = now
			}
		}
		all = append(all, m)
	}
	return all, nil
}
