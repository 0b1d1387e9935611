package cloud

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

// wake marks all pools: see [pool.wake].
func (ps *pools) wake() {
	for _, p := range ps.all {
		p.wake()
	}
}
