package cloud

import (
	"iter"

	"fsub/cloud/provider"
)

// pools are the partitions of a site, in the order of its configuration. Those that are not configured any more and have machines come last.
type pools struct {
	all   []*pool
	known bool // the cloud has said what can be rented
}

// named returns nil if the site has no such pool.
func (ps *pools) named(name string) *pool {
	for _, p := range ps.all {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// offered are the offerings that the pools rent, each once.
func (ps *pools) offered() iter.Seq[provider.Offering] {
	return func(yield func(provider.Offering) bool) {
		seen := map[string]bool{}
		for _, p := range ps.all {
			for _, ng := range p.groups {
				if p.retired || ng.gone || seen[ng.offering.ID] {
					continue
				}
				if seen[ng.offering.ID] = true; !yield(ng.offering) {
					return
				}
			}
		}
	}
}

// wake marks all pools: see [pool.wake].
func (ps *pools) wake() {
	for _, p := range ps.all {
		p.wake()
	}
}
