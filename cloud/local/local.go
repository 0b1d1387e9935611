package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// Config is what a Provider is made of. Dir and Agent are required.
type Config struct {
	Dir     string         // of this provider alone, absolute. Others must not be able to read it: the machines' boot data passes through
	Agent   string         // path of the agent's binary
	Shapes  []Shape        // what machines there are; nil: one, of the size of this machine
	Network Network        // "": NetworkAuto
	Subnets []netip.Prefix // private ranges for the addresses of a network of machines; nil: lan.DefaultRanges
	GPUDir  string         // where the host's GPUs are shown; "": where NVIDIA's driver shows them
	// NoNamespaces has machines share all with the host, as where the kernel allows no better. It
	// is for jobs that namespaces are in the way of.
	NoNamespaces bool
	// Settle is a command that calls [Settle] for Dir. A process is kept beside the machines that
	// runs it when they have ended and no provider is there any more; nil: their traces stay then,
	// until the next provider of Dir.
	Settle []string

	Logger *slog.Logger     // nil: no logs
	Now    func() time.Time // nil: time.Now
}

// Shape is one kind of machine. What it has is declared: nothing keeps the sum within what this
// machine has, but for GPUs. Where this machine has GPUs each is one machine's at a time, and is
// known there by the number that it has here; where it has none they are pretended.
type Shape struct {
	Type       string // its name: letters, digits, '.', '-', '_'
	CPUs       int
	Mem        sbatch.MemMiB
	GPUs       int
	GPUType    string
	Features   []string
	Price      decision.Dollars // per hour
	Market     provider.Market  // "": provider.OnDemand
	Interrupts float64          // expected per hour
	Boot       time.Duration    // 0: DefaultBoot
	Max        int              // machines at one time; 0: no bound
}

// DefaultBoot is how long a machine takes to start, about.
const DefaultBoot = 200 * time.Millisecond

// Provider is the local cloud.
type Provider struct {
	cfg     *Config
	log     *slog.Logger
	net     *machineNetwork
	host    *host
	gangs   *gangTable
	reaper  *reaper
	devices int      // GPUs of the host
	owner   *os.File // the lock that says that a provider lives
}

// assemble makes the parts of a provider.
func assemble(c *Config) *Provider {
	net := &machineNetwork{cfg: c, log: c.Logger}
	return &Provider{cfg: c, log: c.Logger, net: net, host: &host{base: c.Dir, agent: c.Agent, net: net},
		gangs: newGangTable(c), reaper: &reaper{cfg: c, log: c.Logger}}
}

var _ provider.Provider = (*Provider)(nil)

// New opens a provider: finds the machines of an earlier one of the same directory, and how far
// machines can be isolated here.
func New(c Config) (*Provider, error) {
	if !filepath.IsAbs(c.Dir) {
		return nil, fmt.Errorf("local: directory %q is not absolute", c.Dir)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.GPUDir = cmp.Or(c.GPUDir, nvidiaDir)
	if len(c.Shapes) == 0 {
		c.Shapes = []Shape{ThisMachine()}
	}
	devices, _ := nvidia(c.GPUDir)
	var err error
	if err := errors.Join(checkShapes(c.Shapes), checkDevices(c.Shapes, devices)); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if err := checkAgent(c.Agent); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if err := makeDirs(c.Dir); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	p := assemble(&c)
	p.devices = devices
	if p.owner, err = own(c.Dir, unix.LOCK_SH); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if err := p.load(); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if err := p.net.open(p.unused); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if err := p.isolate(); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	p.log.Info("local machines", "network", p.net.words)
	return p, nil
}

// load takes over the gangs of an earlier provider, and clears away what it has left.
func (p *Provider) load() error {
	if err := p.gangs.load(); err != nil {
		return err
	}
	return p.sweep()
}

// sweep removes directories of machines that are ended, or of no gang: a provider that died while
// it ended them has left them.
func (p *Provider) sweep() error {
	entries, err := os.ReadDir(filepath.Join(p.cfg.Dir, "machines"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		m := machine{ID: provider.InstanceID(e.Name())}
		if g, known := p.gangs.find(m.ID); g != nil && known.Ended.IsZero() {
			continue
		}
		if err := p.host.stop(&m); err != nil {
			return err
		}
		if err := os.RemoveAll(p.host.dir(m.ID)); err != nil {
			return err
		}
	}
	return nil
}

// isolate finds out how far machines can be of their own.
func (p *Provider) isolate() error {
	if p.cfg.NoNamespaces {
		return nil
	}
	var why error
	if p.host.isolation, why = p.host.probe(); why != nil {
		p.log.Warn("local machines are not isolated as far as they could be", "isolation", p.host.isolation, "err", why)
	}
	if p.net.own && !p.host.isolation.Network {
		if p.cfg.Network == NetworkNamespace {
			return fmt.Errorf("network: namespaces cannot be made: %w", why)
		}
		p.net.decide(fmt.Errorf("namespaces cannot be made: %s", strings.ReplaceAll(why.Error(), "\n", "; ")))
	}
	return nil
}

// makeDirs makes the directories. Jobs of other users run scripts below a machine's, so that they
// must get through; the files are closed to them.
func makeDirs(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "gangs"), 0o711); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "machines"), 0o711); err != nil {
		return err
	}
	return errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Join(dir, "gangs"), 0o700), os.Chmod(filepath.Join(dir, "machines"), 0o711))
}

func checkAgent(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("agent: %w", err)
	case !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("agent: %s is not a program", path)
	case !filepath.IsAbs(path):
		return fmt.Errorf("agent: %s is not absolute", path)
	}
	return nil
}

func checkShapes(shapes []Shape) error {
	seen := map[string]bool{}
	for i := range shapes {
		s := &shapes[i]
		if s.Market == "" {
			s.Market = provider.OnDemand
		}
		if s.Boot == 0 {
			s.Boot = DefaultBoot
		}
		switch {
		case s.Type == "" || !wordOf(s.Type, ".-_"):
			return fmt.Errorf("shape %q: invalid name: want letters, digits, '.', '-' and '_'", s.Type)
		case s.CPUs < 1 || s.Mem < 1 || s.GPUs < 0 || s.Max < 0 || s.Price < 0:
			return fmt.Errorf("shape %s: it needs CPUs and memory, and nothing of it is negative", s.Type)
		case seen[s.id()]:
			return fmt.Errorf("shape %s is there twice", s.id())
		}
		seen[s.id()] = true
	}
	return nil
}

func (s *Shape) id() string { return s.Type + "/" + string(s.Market) }

// wordOf reports whether all of s are ASCII letters, digits or among more.
func wordOf(s, more string) bool {
	for _, r := range s {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') && !slices.Contains([]rune(more), r) {
			return false
		}
	}
	return true
}

// Offerings implements provider.Provider.
func (p *Provider) Offerings(context.Context) ([]provider.Offering, error) {
	var out []provider.Offering
	for _, s := range p.cfg.Shapes {
		features := append([]string{s.Type}, s.Features...)
		if s.Market == provider.Spot {
			features = append(features, "spot")
		}
		gang := s.Max
		if gang == 0 {
			gang = 1024
		}
		out = append(out, provider.Offering{
			ID: s.id(), Type: s.Type, Region: "local", Zone: "local", Market: s.Market,
			CPUs: s.CPUs, Mem: s.Mem, GPUs: s.GPUs, GPUType: s.GPUType, Features: features, Arch: arch(),
			Price: s.Price, PricedAt: p.cfg.Now(), PriceFrom: "configuration", Interrupts: s.Interrupts, Boot: s.Boot, Max: s.Max, MaxGang: gang,
		})
	}
	return out, nil
}

// Boot returns what a driver puts into the boot data of this provider's machines: they have the
// agent, and see the server's socket.
func (p *Provider) Boot() agentapi.Boot { return agentapi.Boot{Path: p.cfg.Agent} }

func (p *Provider) shape(offering string) (Shape, error) {
	for _, s := range p.cfg.Shapes {
		if s.id() == offering {
			return s, nil
		}
	}
	return Shape{}, fmt.Errorf("no shape %q is configured", offering)
}

func refuse(kind provider.ErrorKind, scope provider.Scope, err error) error {
	var already *provider.Error
	if errors.As(err, &already) {
		return err
	}
	return &provider.Error{Kind: kind, Scope: scope, Text: err.Error(), Err: err}
}
