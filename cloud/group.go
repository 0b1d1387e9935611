package cloud

import (
	"slices"
	"strconv"
	"strings"

	"fsub/cloud/provider"
	"fsub/federation/demand"
)

// nodeGroup is the machines of one offering in a pool.
type nodeGroup struct {
	pool     *pool
	offering provider.Offering // as it was seen last
	gone     bool              // the provider offers it no more
	risk     Risk              // as it was looked at last
	prefix   string            // of its machines' names
	low      int               // machines have all names with a number up to this
	machines []*machine
	calls    chan struct{} // of Create that are made now
}

// shape is a new machine of the node group.
func (ng *nodeGroup) shape() demand.Node {
	o := &ng.offering
	return demand.Node{CPUs: o.CPUs, Mem: o.Mem, GPUs: o.GPUs, GPUType: o.GPUType, GRES: o.GRES}
}

// features are what --constraint can ask for: those of the offering and the pool, and of a cloud's machines the market, the region and the zone.
func (ng *nodeGroup) features() []string {
	o := &ng.offering
	list := slices.Concat(o.Features, ng.pool.Features)
	if !ng.pool.fleet.cfg.Boot.PowerOff { // machines of this one
		return list
	}
	for _, f := range []string{string(o.Market), o.Region, o.Zone} {
		if f != "" && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// hosts is how many machines come and go together.
func (ng *nodeGroup) hosts() int { return max(ng.offering.Hosts, 1) }

// room is how many more machines there may be in a node group.
func (ng *nodeGroup) room() int {
	if ng.gone {
		return 0
	}
	room := ng.pool.Max - ng.pool.machines - ng.pool.heldNames()
	if ng.offering.Max > 0 {
		room = min(room, ng.offering.Max-len(ng.machines)-len(ng.heldNames()))
	}
	return max(room, 0) / ng.hosts() * ng.hosts()
}

// newNames are the first names of the node group that no machine has.
func (ng *nodeGroup) newNames(n int) []string {
	names := make([]string, 0, n)
	for i := ng.low + 1; len(names) < n; i++ {
		name := ng.prefix + strconv.Itoa(i)
		switch {
		case ng.pool.fleet.names[name] == nil && ng.pool.fleet.held[name] == "":
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

// freeFor are the machines of a node group that a job may use now: those that are up first. The components of a heterogeneous job are on machines of their own, as
// slurmctld does it.
func (ng *nodeGroup) freeFor(j *job, r *run) (nodes []demand.Node, machines []*machine) {
	var kept, booting []*machine
	for _, m := range ng.machines {
		switch {
		case m.keeper != nil && m.keeper != j, len(m.runs) > 0 && !ng.pool.Shared || !m.usable(j.User.Name) || m.cpus >= m.gang.Offering.CPUs || slices.Contains(r.machines, m), !m.whole(j.User.Name), !m.lasts(j):
		case m.keeper == j:
			kept = append(kept, m)
		case m.State == machineUp:
			machines = append(machines, m)
		default:
			booting = append(booting, m)
		}
	}
	machines = slices.Concat(kept, machines, booting)
	for _, m := range machines {
		nodes = append(nodes, m.free())
	}
	return nodes, machines
}

// usable is how many machines there are that the job could use one day.
func (ng *nodeGroup) usable(j *job) (n int) {
	for _, m := range ng.machines {
		if m.usable(j.User.Name) && (m.keeper == nil || m.keeper == j) {
			n++
		}
	}
	return n
}

// fitsOneDay reports whether a component would fit if nothing else ran in the group: on the machines that are there, and the new ones that there could be.
func (ng *nodeGroup) fitsOneDay(needs *demand.Demand, more []demand.Node) bool {
	nodes := slices.Clone(more)
	for _, m := range ng.machines {
		node := ng.shape()
		node.Name = m.Name
		nodes = append(nodes, node)
	}
	_, err := demand.Fit(needs, nodes, ng.pool.options())
	return err == nil
}
