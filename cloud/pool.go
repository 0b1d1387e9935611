package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/demand"
)

// pool is a partition of the site: like a PoolConfig, with what there is of it.
type pool struct {
	PoolConfig
	fleet     *fleet
	groups    []*nodeGroup // cheapest first
	machines  int          // that are not ended
	subqueues map[*subqueue]bool
	woken     bool // its claims are to be looked at
	spent     spent
	allowed   []federation.Allowance // while jobs are scheduled; nil: not looked at yet
	retired   bool                   // not configured any more: it gets no jobs
}

func newPool(f *fleet, cfg PoolConfig) *pool {
	return &pool{PoolConfig: cfg, fleet: f, subqueues: map[*subqueue]bool{}}
}

// wake has the next schedule look at all claims on the pool: there may be more room in it now.
func (p *pool) wake() { p.woken = true }

// waiting is the number of jobs that wait for machines of the pool.
func (p *pool) waiting() (n int) {
	for l := range p.subqueues {
		n += len(l.jobs)
	}
	return n
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
func (p *pool) options() demand.Options {
	return demand.Options{Whole: !p.Shared, DefMemPerCPU: p.DefMemPerCPU, Most: p.Max}
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

// full reports whether there is nothing in a pool that any job could have.
func (p *pool) full() bool {
	for _, ng := range p.groups {
		if ng.room() > 0 {
			return false
		}
		for _, m := range ng.machines {
			if len(m.runs) == 0 || p.Shared && m.cpus < m.gang.Offering.CPUs {
				return false
			}
		}
	}
	return len(p.groups) > 0
}
