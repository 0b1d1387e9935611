package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	p.ensureReaper()
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
		if p.known(g) {
			return g, nil
		}
		g.life.Unlock() // a call with the same token could not start it, and there may be a new one by now
	}
}

// known reports whether a gang is that of its token still.
func (p *Provider) known(g *gang) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gangs[g.Token] == g
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
	p.mu.Lock()
	defer p.mu.Unlock()
	hash := hashOf(r)
	if g := p.gangs[r.Token]; g != nil {
		if g.Request != hash {
			return nil, &provider.Error{Kind: provider.KindConflict, Scope: provider.ScopeOffering, Text: "gang " + r.Token + " was asked for differently before"}
		}
		return g, nil
	}
	used, addrs, gpus := 0, map[string]bool{}, newDevices(p.devices)
	for _, g := range p.gangs {
		for i := range g.Machines {
			if m := &g.Machines[i]; p.present(m) {
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
		addr, err := p.freeAddr(addrs)
		if err != nil {
			return nil, &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeCloud, Text: err.Error()}
		}
		addrs[addr] = true
		g.Machines = append(g.Machines, machine{ID: provider.InstanceID(fmt.Sprintf("%s.%d", r.Token, i)), Name: name, Addr: addr, GPUs: gpus.take(shape.GPUs)})
	}
	if err := p.save(g); err != nil {
		return nil, err
	}
	p.gangs[g.Token] = g
	return g, nil
}

// present reports whether a machine takes up its place still: one that ended since the last look does not.
func (p *Provider) present(m *machine) bool {
	if !m.Ended.IsZero() {
		return false
	}
	proc, begun, err := p.process(m)
	return err != nil || !begun || proc.Alive()
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
	if err := p.ready(p.machines(g)); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(4 * runtime.NumCPU()) // starting is waiting for the kernel, mostly
	for _, m := range p.machines(g) {
		if !m.Ended.IsZero() {
			continue
		}
		group.Go(func() error {
			err := p.start(&m, r)
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

// machines is a copy of a gang's machines.
func (p *Provider) machines(g *gang) []machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(g.Machines)
}

// abandon ends what there is of a gang that could not be started whole, and forgets it: asked for
// again, it is tried again.
func (p *Provider) abandon(g *gang) {
	var all sync.WaitGroup
	for _, m := range p.machines(g) {
		all.Go(func() {
			if err := p.end(&m); err != nil {
				p.log.Error("end a machine of a gang that could not be started", "machine", m.ID, "err", err)
			}
		})
	}
	all.Wait()
	var err error
	for _, m := range p.machines(g) {
		err = errors.Join(err, os.RemoveAll(p.dir(m.ID))) // before it is forgotten: a new gang's are in the same place
	}
	p.mu.Lock()
	err = errors.Join(err, p.forget(g))
	p.mu.Unlock()
	if err != nil {
		p.log.Error("forget a gang that could not be started", "gang", g.Token, "err", err)
	}
}

// start makes a machine's directory and starts its process, unless it has one.
func (p *Provider) start(m *machine, r provider.Request) error {
	dir := p.dir(m.ID)
	if err := errors.Join(os.MkdirAll(dir, 0o711), os.Chmod(dir, 0o711)); err != nil {
		return err
	}
	if _, begun, err := p.process(m); err != nil || begun {
		return errors.Join(err, ifTrue(begun, inside.ErrClaimed))
	}
	boot := r.Boot
	boot.Path, boot.Agent, boot.PowerOff = p.cfg.Agent, "", false
	boot.Instance, boot.Addr = string(m.ID), m.Addr
	boot.Metadata = "file:" + filepath.Join(dir, inside.NoticeFile)
	spec := p.spec(m)
	if p.isolation.Mounts {
		boot.Hosts = filepath.Join(dir, inside.HostsFile) // not as it is mounted: a mount goes when the host's own file is replaced, and then that would be written
		if err := p.writeHosts(dir, m); err != nil {
			return err
		}
		var err error
		if spec.Resolv, err = p.writeResolv(dir, m); err != nil {
			return err
		}
		if spec.Users, err = writeUsers(dir); err != nil {
			return err
		}
		if spec.Users {
			boot.Users = dir
		}
		if spec.Profile, err = writeProfile(dir); err != nil {
			return err
		}
	}
	if err := replaceFile(filepath.Join(dir, inside.BootFile), boot.Lines()); err != nil {
		return err
	}
	return p.launch(m, spec)
}

func ifTrue(b bool, err error) error {
	if b {
		return err
	}
	return nil
}

// writeHosts makes the machine's hosts file: the host's, to which the agent adds the names of its gangs.
func (p *Provider) writeHosts(dir string, m *machine) error {
	text, err := os.ReadFile("/etc/hosts")
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("this machine has no /etc/hosts: make one, on which its nodes' can be mounted")
	}
	if err != nil {
		return err
	}
	if p.linked(m) {
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		text = []byte(hostsFor(string(text), host, p.net.Addr(1).String()))
	}
	return writePublic(filepath.Join(dir, inside.HostsFile), text)
}

// writeResolv makes the machine's resolv.conf if it cannot have the host's.
func (p *Provider) writeResolv(dir string, m *machine) (made bool, err error) {
	if !p.linked(m) {
		return false, nil
	}
	text, err := resolvers(resolvFiles)
	if err != nil {
		p.log.Warn("no names resolve in a local machine", "machine", m.ID, "err", err)
	}
	if text == nil {
		return false, nil
	}
	return true, writePublic(filepath.Join(dir, inside.ResolvFile), text)
}

// writeUsers makes the machine's passwd and group: the host's, to which the agent adds users of
// jobs that the host does not have. Only root's machines run such jobs.
func writeUsers(dir string) (made bool, err error) {
	if os.Geteuid() != 0 {
		return false, nil
	}
	for file, etc := range map[string]string{inside.PasswdFile: "/etc/passwd", inside.GroupFile: "/etc/group"} {
		text, err := os.ReadFile(etc)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err == nil {
			err = writePublic(filepath.Join(dir, file), text)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
