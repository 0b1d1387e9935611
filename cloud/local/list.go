package local

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

// List implements provider.Provider. It also clears away what machines that ended by themselves
// have left, and looks after the network.
func (p *Provider) List(context.Context) ([]provider.Instance, error) {
	p.mu.Lock()
	gangs := make([]*gang, 0, len(p.gangs))
	for _, g := range p.gangs {
		gangs = append(gangs, g)
	}
	p.mu.Unlock()
	slices.SortFunc(gangs, func(a, b *gang) int { return cmp.Compare(a.Token, b.Token) })
	var out []provider.Instance
	for _, g := range gangs {
		list, err := p.show(g)
		if err != nil {
			return nil, refuse(provider.KindUnavailable, provider.ScopeCloud, err)
		}
		out = append(out, list...)
		p.mu.Lock()
		if g.ended() && p.cfg.Now().Sub(lastEnd(g)) > keepEnded {
			_ = p.forget(g) // the next one tries again
		}
		p.mu.Unlock()
	}
	if slices.ContainsFunc(out, func(i provider.Instance) bool { return i.State != provider.InstanceEnded }) {
		p.ensureReaper() // somebody may have killed it
	}
	if err := p.keepNetwork(); err != nil {
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
	for _, m := range p.machines(g) {
		i := provider.Instance{ID: m.ID, Token: g.Token, Name: m.Name, Offering: g.Offering, Addr: m.Addr, GPUs: m.GPUs, Launched: g.Created, State: provider.InstanceRunning}
		if m.Ended.IsZero() {
			proc, begun, err := p.process(&m)
			switch {
			case err != nil:
				return nil, err
			case !begun && !m.begun:
				i.State = provider.InstancePending
			case !begun:
				m = p.gone(g, &m, "its directory is gone: another program has ended it")
			case !proc.Alive():
				m = p.gone(g, &m, p.lastWords(&m))
			case !m.begun:
				p.noteBegun(g, &m)
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

func (p *Provider) noteBegun(g *gang, m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(g.Machines, func(mine machine) bool { return mine.ID == m.ID })
	g.Machines[i].begun = true
}

// settle enters the end of a machine whose processes are gone, and then removes its directory. It
// is called with g.life shared.
func (p *Provider) settle(g *gang, m *machine, reason string) (machine, error) {
	p.clear(m)
	if err := p.enterEnd(g, m, reason); err != nil {
		return *m, err
	}
	return *m, os.RemoveAll(p.dir(m.ID))
}

// enterEnd writes the end of a machine down, unless that has been done.
func (p *Provider) enterEnd(g *gang, m *machine, reason string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(g.Machines, func(mine machine) bool { return mine.ID == m.ID })
	mine := &g.Machines[i]
	if mine.Ended.IsZero() {
		mine.Ended, mine.Reason = p.cfg.Now().UTC(), reason
		if p.gangs[g.Token] == g {
			if err := p.save(g); err != nil {
				mine.Ended = time.Time{}
				return err
			}
		}
		p.log.Info("local machine ended", "machine", m.ID, "reason", reason)
	}
	*m = *mine
	return nil
}

// lastWords is the end of the agent's log, of a machine that ended by itself.
func (p *Provider) lastWords(m *machine) string {
	text, err := tail(filepath.Join(p.dir(m.ID), inside.LogFile))
	if err != nil {
		return "its process is gone"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return "its process is gone"
	}
	return "its process is gone; it said last: " + last[:min(len(last), 300)]
}

// tail is the end of a file, which may be of any size.
func tail(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 4 << 10
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(info.Size()-most, 0), most))
}
