package cloud

import (
	"context"
	"maps"
	"slices"
	"strings"

	"fsub/cloud/records"
	"fsub/federation/driver"
	"fsub/federation/health"
)

// SetNodes implements driver.NodeSetter. It is a node's name that is drained: the machine that has it gets no new jobs and is ended when it is
// idle, and no other gets the name until it is resumed. The records keep that with the machine; of a name without one a later daemon is told again.
func (d *Driver) SetNodes(ctx context.Context, o driver.NodeOrder) (left map[string]error, err error) {
	seen, err := d.Observe(ctx)
	if err != nil {
		return nil, err
	}
	do, left := health.Todo(seen.Nodes, o)
	var batch *records.Batch
	d.locked(func() {
		for _, name := range do[health.Drain] {
			d.fleet.hold(name, o.Text)
		}
		for _, name := range slices.Concat(do[health.Undrain], do[health.Revive]) {
			d.fleet.hold(name, "")
		}
		d.scheduler.schedule()
		batch = d.rec.Flush()
		d.news.nodes()
	})
	return left, d.rec.Durable(ctx, batch)
}

// hold drains a node for a reason, or resumes it if that is "".
func (f *fleet) hold(name, why string) {
	if f.held[name] = why; why == "" {
		delete(f.held, name)
	}
	if m := f.names[name]; m != nil {
		m.Held = why
		m.countDrained(f.now())
		f.put(m)
	}
	for _, p := range f.pools.all {
		for _, ng := range p.groups {
			if why == "" && strings.HasPrefix(name, ng.prefix) {
				ng.given(name)
			}
		}
		p.wake()
	}
}

// heldNames are the group's names that are drained and no machine has.
func (ng *nodeGroup) heldNames() (names []string) {
	if len(ng.pool.fleet.held) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(ng.pool.fleet.held)) {
		if number := strings.TrimPrefix(name, ng.prefix); number != name && strings.Trim(number, "0123456789") == "" && ng.pool.fleet.names[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

// heldNames is how many names of the pool are drained and no machine has: so many machines fewer it may have.
func (p *pool) heldNames() (n int) {
	for _, ng := range p.groups {
		n += len(ng.heldNames())
	}
	return n
}
