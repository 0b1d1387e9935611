package local

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
)

// Delete implements provider.Provider. It returns when the machines are ended.
func (p *Provider) Delete(_ context.Context, ids []provider.InstanceID) error {
	var all sync.WaitGroup
	errs := make([]error, len(ids))
	for n, id := range ids {
		g, m := p.gangs.find(id)
		if g == nil || !m.Ended.IsZero() {
			continue
		}
		all.Go(func() {
			g.life.RLock()
			defer g.life.RUnlock()
			if errs[n] = p.host.end(&m); errs[n] == nil {
				_, errs[n] = p.settle(g, &m, "deleted")
			}
		})
	}
	all.Wait()
	if p.net.lan != nil {
		errs = append(errs, p.net.lan.Remove(p.unused))
		ids = append(slices.Clone(ids), "the network")
	}
	for n, err := range errs {
		if err != nil {
			return refuse(provider.KindUnavailable, provider.ScopeCloud, fmt.Errorf("end %s: %w", ids[n], err))
		}
	}
	return nil
}

// unused reports whether the bridge has no machines.
func (p *Provider) unused() bool {
	p.gangs.mu.Lock()
	defer p.gangs.mu.Unlock()
	for _, g := range p.gangs.byToken {
		if slices.ContainsFunc(g.Machines, func(m machine) bool { return p.net.linked(&m) && p.host.present(&m) }) {
			return false
		}
	}
	return true
}

// Announce tells a machine that it is going to be taken: what a cloud's metadata service does before it takes back a spot machine.
func (p *Provider) Announce(id provider.InstanceID, n agentapi.Notice) error {
	return p.host.announce(id, n)
}

// Withdraw implements provider.Provider: nothing is ever queued.
func (p *Provider) Withdraw(context.Context, string) error { return nil }
