package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fsub/accounting"
	"fsub/cloud/layout"
	"fsub/cloud/provider"
	"fsub/federation"
)

// pool is a partition of the site: like a PoolConfig, with what there is of it.
type pool struct {
	PoolConfig
	fleet    *fleet
	lanes    []*lane // cheapest first
	machines int     // that are not ended
	lines    map[*line]bool
	spent    spent
	allowed  []federation.Allowance // while jobs are scheduled; nil: not looked at yet
	retired  bool                   // not configured any more: it gets no jobs
}

// lane is one offering of a pool.
type lane struct {
	pool     *pool
	offering provider.Offering // as it was seen last
	gone     bool              // the provider offers it no more
	prefix   string            // of its machines' names
	low      int               // machines have all names with a number up to this
	machines []*machine
	calls    chan struct{} // of Create that are made now
}

func newPool(f *fleet, cfg PoolConfig) *pool {
	return &pool{PoolConfig: cfg, fleet: f, lines: map[*line]bool{}}
}

func (f *fleet) pool(name string) *pool {
	for _, p := range f.pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// offer takes in what the provider offers now.
func (p *pool) offer(list []provider.Offering) {
	for _, l := range p.lanes {
		l.gone = true
	}
	for i := range list {
		if o := &list[i]; p.Select.takes(o) && o.CPUs > 0 {
			l := p.laneOf(o)
			l.offering, l.gone = *o, false
		}
	}
	several := len(p.lanes) > 1
	for _, l := range p.lanes {
		if l.prefix == "" {
			l.prefix = p.prefix(l, several)
		}
	}
	slices.SortStableFunc(p.lanes, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(a.offering.Price, b.offering.Price), cmp.Compare(a.offering.ID, b.offering.ID))
	})
}

// laneOf is the lane of an offering, made if it is new.
func (p *pool) laneOf(o *provider.Offering) *lane {
	for _, l := range p.lanes {
		if l.offering.ID == o.ID {
			return l
		}
	}
	l := &lane{pool: p, offering: *o, gone: true, calls: make(chan struct{}, createAtOnce)}
	p.lanes = append(p.lanes, l)
	return l
}

// prefix is what the names of a lane's machines begin with: site and pool, and the offering where there are several. A host name has 63 characters at most.
func (p *pool) prefix(l *lane, several bool) string {
	name := string(p.fleet.cfg.Site) + "-" + p.Name + "-"
	if several {
		name += plain(l.offering.Type) + "-"
	}
	if len(name) > 50 {
		name = name[:50] + "-"
	}
	for n := 2; slices.ContainsFunc(p.lanes, func(other *lane) bool { return other.prefix == name }); n++ {
		name = strings.TrimRight(name, "0123456789x-") + fmt.Sprintf("-x%d-", n)
	}
	return name
}

// plain is a text with nothing but what a host name may have.
func plain(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s)), "-")
}

// options are how the pool gives out its machines.
func (p *pool) options() layout.Options {
	return layout.Options{Whole: !p.Shared, DefMemPerCPU: p.DefMemPerCPU, Most: p.Max}
}

// shape is a new machine of the lane.
func (l *lane) shape() layout.Node {
	o := &l.offering
	return layout.Node{CPUs: o.CPUs, Mem: o.Mem, GPUs: o.GPUs, GPUType: o.GPUType}
}

// room is how many more machines there may be in a lane.
func (l *lane) room() int {
	if l.gone {
		return 0
	}
	room := l.pool.Max - l.pool.machines
	if l.offering.Max > 0 {
		room = min(room, l.offering.Max-len(l.machines))
	}
	return max(room, 0) / l.hosts() * l.hosts()
}

// hosts is how many machines come and go together.
func (l *lane) hosts() int { return max(l.offering.Hosts, 1) }

// newNames are the first names of the lane that no machine has.
func (l *lane) newNames(n int) []string {
	names := make([]string, 0, n)
	for i := l.low + 1; len(names) < n; i++ {
		name := l.prefix + strconv.Itoa(i)
		switch {
		case l.pool.fleet.names[name] == nil:
			names = append(names, name)
		case i == l.low+1:
			l.low = i
		}
	}
	return names
}

// given notes that a name is to be had again.
func (l *lane) given(name string) {
	if text, ok := strings.CutPrefix(name, l.prefix); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			l.low = min(l.low, n-1)
		}
	}
}

// lanesFor are the lanes that a component may run in: the one that placement chose, or all.
func (p *pool) lanesFor(w want) []*lane {
	if w.Offering == "" {
		return p.lanes
	}
	for i, l := range p.lanes {
		if l.offering.ID == w.Offering {
			return p.lanes[i : i+1]
		}
	}
	return nil
}

// add and remove keep count of machines.
func (f *fleet) add(m *machine) {
	f.machines[m.id], f.names[m.Name] = m, m
	m.pool.machines++
	i, _ := slices.BinarySearchFunc(m.lane.machines, m, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	m.lane.machines = slices.Insert(m.lane.machines, i, m)
}

func (f *fleet) remove(m *machine) {
	if f.machines[m.id] != m {
		return
	}
	delete(f.machines, m.id)
	delete(f.names, m.Name)
	m.lane.given(m.Name)
	m.pool.machines--
	if i := slices.Index(m.lane.machines, m); i >= 0 {
		m.lane.machines = slices.Delete(m.lane.machines, i, i+1)
	}
}

// features are what --constraint can ask for.
func (l *lane) features() []string {
	return append(slices.Clone(l.offering.Features), l.pool.Features...)
}

// price of a run, by the hour: what it holds of each of its machines.
func (r *run) price() (sum federation.Money) {
	for i, m := range r.machines {
		k, o := &r.Members[i], &m.gang.Offering
		part := 1.0
		if m.pool.Shared {
			part = min(1, max(share(k.CPUs, o.CPUs), share(int(k.Mem), int(o.Mem)), share(len(k.GPUs), o.GPUs)))
		}
		sum += accounting.MoneyOf(m.Price.Dollars() * part)
	}
	return sum
}

func share(n, of int) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// fleet is the machines that there are, in the gangs that they were rented in and the pools that they are for.
type fleet struct {
	*base
	cool    *cooldowns
	numbers *numbers
	strays  *strays
	runs    *runs
	sweep   *sweeper
	queue   *queue

	pools    []*pool
	gangs    map[string]*gang // by token
	machines map[MachineID]*machine
	names    map[string]*machine
}

func newFleet(b *base) *fleet {
	return &fleet{base: b, gangs: map[string]*gang{}, machines: map[MachineID]*machine{}, names: map[string]*machine{}}
}
