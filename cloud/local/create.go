package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"fsub/cloud/local/inside"
	"fsub/cloud/local/lan"
	"fsub/cloud/provider"
)

// Create implements provider.Provider.
func (p *Provider) Create(ctx context.Context, r provider.Request) ([]provider.Instance, error) {
	shape, err := p.check(r)
	if err != nil {
		return nil, refuse(provider.KindInvalid, provider.ScopeOffering, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, refuse(provider.KindUnavailable, provider.ScopeOffering, err)
	}
	g, err := p.make(r, shape)
	for n := 0; n < moves && errors.Is(err, lan.ErrMoved); n++ { // it has other addresses now
		g, err = p.make(r, shape)
	}
	if err != nil {
		return nil, refuse(provider.KindUnavailable, provider.ScopeOffering, err)
	}
	return p.show(g)
}

// moves is how often a network may lose its addresses to others of this machine while it is made, at most.
const moves = 5

// make writes a gang down and starts it, whole or not at all.
func (p *Provider) make(r provider.Request, shape Shape) (*gang, error) {
	g, err := p.claim(r, shape)
	if err != nil {
		return nil, err
	}
	defer g.life.Unlock()
	p.reaper.ensure()
	if err := p.startAll(g, r); err != nil {
		p.abandon(g)
		return nil, err
	}
	return g, nil
}

// claim writes the gang down, or finds it, for the caller alone to start: its life is locked.
func (p *Provider) claim(r provider.Request, shape Shape) (*gang, error) {
	for {
		g, err := p.record(r, shape)
		if err != nil {
			return nil, err
		}
		g.life.Lock()
		if p.gangs.known(g) {
			return g, nil
		}
		g.life.Unlock() // a call with the same token could not start it, and there may be a new one by now
	}
}

func (p *Provider) check(r provider.Request) (Shape, error) {
	switch {
	case r.Token == "" || len(r.Token) > 64 || !wordOf(r.Token, "-"):
		return Shape{}, fmt.Errorf("token %q is not of at most 64 letters, digits and '-'", r.Token)
	case r.Count < 1 || len(r.Names) != r.Count:
		return Shape{}, fmt.Errorf("%d machines with %d names", r.Count, len(r.Names))
	}
	for _, name := range r.Names {
		if name == "" || len(name) > 63 || !wordOf(name, "-.") {
			return Shape{}, fmt.Errorf("invalid host name %q", name)
		}
	}
	return p.shape(r.Offering.ID)
}

// record writes the gang down, or finds it.
func (p *Provider) record(r provider.Request, shape Shape) (*gang, error) {
	p.gangs.mu.Lock()
	defer p.gangs.mu.Unlock()
	hash := hashOf(r)
	if g := p.gangs.byToken[r.Token]; g != nil {
		if g.Request != hash {
			return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "gang " + r.Token + " was asked for differently before"}
		}
		return g, nil
	}
	used, addrs, gpus := 0, map[string]bool{}, newDevices(p.devices)
	for _, g := range p.gangs.byToken {
		for i := range g.Machines {
			if m := &g.Machines[i]; p.host.present(m) {
				addrs[m.Addr] = true
				gpus.use(m.GPUs)
				if g.Offering == r.Offering.ID {
					used++
				}
			}
		}
	}
	if shape.Max > 0 && used+r.Count > shape.Max || !gpus.have(r.Count*shape.GPUs) {
		return nil, &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering,
			Text: fmt.Sprintf("%d machines of %s are there, and there is no room for %d more", used, shape.Type, r.Count)}
	}
	g := &gang{Token: r.Token, Request: hash, Offering: r.Offering.ID, Created: p.cfg.Now().UTC()}
	for i, name := range r.Names {
		addr, err := p.net.freeAddr(addrs)
		if err != nil {
			return nil, &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeCloud, Text: err.Error()}
		}
		addrs[addr] = true
		g.Machines = append(g.Machines, machine{ID: provider.InstanceID(fmt.Sprintf("%s.%d", r.Token, i)), Name: name, Addr: addr, GPUs: gpus.take(shape.GPUs)})
	}
	if err := p.gangs.save(g); err != nil {
		return nil, err
	}
	p.gangs.byToken[g.Token] = g
	return g, nil
}

// hashOf identifies equal requests. Prices do not count, since they change from look to look; nor
// does the boot data, since a daemon that comes back with another address asks for the rest of its gangs.
func hashOf(r provider.Request) string {
	text, err := json.Marshal(struct {
		Offering string
		Names    []string
	}{r.Offering.ID, r.Names})
	if err != nil {
		panic(err) // text and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// startAll starts those machines of a gang that have not begun.
func (p *Provider) startAll(g *gang, r provider.Request) error {
	if err := p.net.ready(p.gangs.machines(g)); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(4 * runtime.NumCPU()) // starting is waiting for the kernel, mostly
	for _, m := range p.gangs.machines(g) {
		if !m.Ended.IsZero() {
			continue
		}
		group.Go(func() error {
			err := p.host.start(&m, r)
			if errors.Is(err, inside.ErrClaimed) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("start machine %s: %w", m.ID, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// abandon ends what there is of a gang that could not be started whole, and forgets it: asked for
// again, it is tried again.
func (p *Provider) abandon(g *gang) {
	var all sync.WaitGroup
	for _, m := range p.gangs.machines(g) {
		all.Go(func() {
			if err := p.host.end(&m); err != nil {
				p.log.Error("end a machine of a gang that could not be started", "machine", m.ID, "err", err)
			}
		})
	}
	all.Wait()
	var err error
	for _, m := range p.gangs.machines(g) {
		err = errors.Join(err, os.RemoveAll(p.host.dir(m.ID))) // before it is forgotten: a new gang's are in the same place
	}
	p.gangs.mu.Lock()
	err = errors.Join(err, p.gangs.forget(g))
	p.gangs.mu.Unlock()
	if err != nil {
		p.log.Error("forget a gang that could not be started", "gang", g.Token, "err", err)
	}
}
