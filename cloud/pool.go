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
	groups   []*nodeGroup // cheapest first
	machines int          // that are not ended
	lines    map[*line]bool
	spent    spent
	allowed  []federation.Allowance // while jobs are scheduled; nil: not looked at yet
	retired  bool                   // not configured any more: it gets no jobs
}

// nodeGroup is the machines of one offering in a pool.
type nodeGroup struct {
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
	for _, ng := range p.groups {
		ng.gone = true
	}
	for i := range list {
		if o := &list[i]; p.Select.takes(o) && o.CPUs > 0 {
			ng := p.groupOf(o)
			ng.offering, ng.gone = *o, false
		}
	}
	several := len(p.groups) > 1
	for _, ng := range p.groups {
		if ng.prefix == "" {
			ng.prefix = p.prefix(ng, several)
		}
	}
	slices.SortStableFunc(p.groups, func(a, b *nodeGroup) int {
		return cmp.Or(cmp.Compare(a.offering.Price, b.offering.Price), cmp.Compare(a.offering.ID, b.offering.ID))
	})
}

// groupOf is the node group of an offering, made if it is new.
func (p *pool) groupOf(o *provider.Offering) *nodeGroup {
	for _, ng := range p.groups {
		if ng.offering.ID == o.ID {
			return ng
		}
	}
	ng := &nodeGroup{pool: p, offering: *o, gone: true, calls: make(chan struct{}, createAtOnce)}
	p.groups = append(p.groups, ng)
	return ng
}

// prefix is what the names of a group's machines begin with: site and pool, and the offering where there are several. A host name has 63 characters at most.
func (p *pool) prefix(ng *nodeGroup, several bool) string {
	name := string(p.fleet.cfg.Site) + "-" + p.Name + "-"
	if several {
		name += plain(ng.offering.Type) + "-"
	}
	if len(name) > 50 {
		name = name[:50] + "-"
	}
	for n := 2; slices.ContainsFunc(p.groups, func(other *nodeGroup) bool { return other.prefix == name }); n++ {
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

// shape is a new machine of the node group.
func (ng *nodeGroup) shape() layout.Node {
	o := &ng.offering
	return layout.Node{CPUs: o.CPUs, Mem: o.Mem, GPUs: o.GPUs, GPUType: o.GPUType}
}

// room is how many more machines there may be in a node group.
func (ng *nodeGroup) room() int {
	if ng.gone {
		return 0
	}
	room := ng.pool.Max - ng.pool.machines
	if ng.offering.Max > 0 {
		room = min(room, ng.offering.Max-len(ng.machines))
	}
	return max(room, 0) / ng.hosts() * ng.hosts()
}

// hosts is how many machines come and go together.
func (ng *nodeGroup) hosts() int { return max(ng.offering.Hosts, 1) }

// newNames are the first names of the node group that no machine has.
func (ng *nodeGroup) newNames(n int) []string {
	names := make([]string, 0, n)
	for i := ng.low + 1; len(names) < n; i++ {
		name := ng.prefix + strconv.Itoa(i)
		switch {
		case ng.pool.fleet.names[name] == nil:
			names = append(names, name)
		case i == ng.low+1:
			ng.low = i
		}
	}
	return names
}

// given notes that a name is to be had again.
func (ng *nodeGroup) given(name string) {
	if text, ok := strings.CutPrefix(name, ng.prefix); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			ng.low = min(ng.low, n-1)
		}
	}
}

// groupsFor are the groups that a component may run in: the one that placement chose, or all.
func (p *pool) groupsFor(w want) []*nodeGroup {
	if w.Offering == "" {
		return p.groups
	}
	for i, ng := range p.groups {
		if ng.offering.ID == w.Offering {
			return p.groups[i : i+1]
		}
	}
	return nil
}

// add and remove keep count of machines.
func (f *fleet) add(m *machine) {
	f.machines[m.id], f.names[m.Name] = m, m
	m.pool.machines++
	i, _ := slices.BinarySearchFunc(m.group.machines, m, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	m.group.machines = slices.Insert(m.group.machines, i, m)
}

func (f *fleet) remove(m *machine) {
	if f.machines[m.id] != m {
		return
	}
	delete(f.machines, m.id)
	delete(f.names, m.Name)
	m.group.given(m.Name)
	m.pool.machines--
	if i := slices.Index(m.group.machines, m); i >= 0 {
		m.group.machines = slices.Delete(m.group.machines, i, i+1)
	}
}

// features are what --constraint can ask for.
func (ng *nodeGroup) features() []string {
	return append(slices.Clone(ng.offering.Features), ng.pool.Features...)
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
