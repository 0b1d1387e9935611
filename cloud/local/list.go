package local

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"fsub/cloud/provider"
)

// List implements provider.Provider. It also clears away what machines that ended by themselves
// have left, and looks after the network.
func (p *Provider) List(context.Context) ([]provider.Instance, error) {
	p.gangs.mu.Lock()
	gangs := make([]*gang, 0, len(p.gangs.byToken))
	for _, g := range p.gangs.byToken {
		gangs = append(gangs, g)
	}
	p.gangs.mu.Unlock()
	slices.SortFunc(gangs, func(a, b *gang) int { return cmp.Compare(a.Token, b.Token) })
	var out []provider.Instance
	for _, g := range gangs {
		list, err := p.show(g)
		if err != nil {
			return nil, refuse(provider.KindUnavailable, provider.ScopeCloud, err)
		}
		out = append(out, list...)
		p.gangs.mu.Lock()
		if g.ended() && p.cfg.Now().Sub(lastEnd(g)) > keepEnded {
			_ = p.gangs.forget(g) // the next one tries again
		}
		p.gangs.mu.Unlock()
	}
	if slices.ContainsFunc(out, func(i provider.Instance) bool { return i.State != provider.InstanceEnded }) {
		p.reaper.ensure() // somebody may have killed it
	}
	if err := p.net.keep(p.unused); err != nil {
		p.log.Warn("the network of local machines", "err", err)
	}
	return out, nil
}

func lastEnd(g *gang) (end time.Time) {
	for i := range g.Machines {
		if e := g.Machines[i].Ended; e.After(end) {
			end = e
		}
	}
	return end
}

// show looks at the machines of a gang.
func (p *Provider) show(g *gang) ([]provider.Instance, error) {
	var out []provider.Instance
	for _, m := range p.gangs.machines(g) {
		i := provider.Instance{ID: m.ID, Token: g.Token, Name: m.Name, Offering: g.Offering, Addr: m.Addr, GPUs: m.GPUs, Launched: g.Created, State: provider.InstanceRunning}
		if m.Ended.IsZero() {
			proc, begun, err := p.host.process(&m)
			switch {
			case err != nil:
				return nil, err
			case !begun && !m.begun:
				i.State = provider.InstancePending
			case !begun:
				m = p.gone(g, &m, "its directory is gone: another program has ended it")
			case !proc.Alive():
				m = p.gone(g, &m, p.host.lastWords(&m))
			case !m.begun:
				p.gangs.noteBegun(g, &m)
			}
		}
		if !m.Ended.IsZero() {
			i.State, i.Reason = provider.InstanceEnded, m.Reason
		}
		out = append(out, i)
	}
	return out, nil
}

// gone settles a machine that ended by itself, unless its gang is just being started: then it is looked at next time.
func (p *Provider) gone(g *gang, m *machine, reason string) machine {
	if !g.life.TryRLock() {
		return *m
	}
	defer g.life.RUnlock()
	now, err := p.settle(g, m, reason)
	if err != nil {
		p.log.Warn("clear away a local machine", "machine", m.ID, "err", err)
	}
	return now
}

// settle enters the end of a machine whose processes are gone, and then removes its directory. It
// is called with g.life shared.
func (p *Provider) settle(g *gang, m *machine, reason string) (machine, error) {
	p.host.clear(m)
	if err := p.gangs.enterEnd(g, m, reason); err != nil {
		return *m, err
	}
	return *m, os.RemoveAll(p.host.dir(m.ID))
}
