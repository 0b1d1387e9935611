package cloud

import (
	"errors"
	"fmt"
	"slices"

	"fsub/accounting"
	"fsub/federation/demand"
	"fsub/federation/reasons"
)

// grow adds new machines of a node group to those that are there, so that a component fits.
func (s *scheduler) grow(j *job, r *run, i int, ng *nodeGroup) (refusal, bool) {
	p, needs, o := ng.pool, j.needs(i), ng.pool.options()
	free, idle := ng.freeFor(j, r)
	o.Most = max(1, min(p.Max, ng.room()+len(free))) // of 1 to 8 nodes as many as there can be now
	need, _, err := demand.Need(needs, ng.shape(), o)
	if err != nil {
		o = p.options()
		need, _, err = demand.Need(needs, ng.shape(), o)
	}
	if err != nil {
		return refusal{reason: reasons.BadConstraints, detail: err.Error(), back: true}, false
	}
	if w := &j.Wants[i]; w.PerHour > 0 && accounting.MoneyOf(float64(ng.offering.Price)*float64(w.Nodes)) > w.PerHour {
		return refusal{reason: reasons.Price, back: true, detail: fmt.Sprintf("%s costs %s an hour by now", ng.offering.ID, accounting.MoneyOf(float64(ng.offering.Price)).Rate())}, false
	}
	if v, ok := s.fleet.mayGrow(ng); !ok {
		if v.waits = forCloud; v.back && ng.usable(j) >= need {
			v.back, v.waits = false, forMachines // it waits for those
		}
		return v, false
	}
	near := p.Near && ng.offering.MaxGang >= need && need > 1
	var nodes []demand.Node
	var machines []*machine
	if !near {
		nodes, machines = free, idle
	} else if j.Kept != nil { // near to these the cloud can bring no others: in their zone, and on their network
		for k, m := range idle {
			if m.keeper == j {
				nodes, machines = append(nodes, free[k]), append(machines, m)
			}
		}
	}
	there := len(nodes)
	if needs.NodeList != "" || needs.Exclude != "" { // it is about names: all that there could be
		need = max(need, ng.virtual())
	}
	names := ng.namesFor(j, need)
	for _, name := range names {
		node := ng.shape()
		node.Name = name
		nodes = append(nodes, node)
	}
	shares, err := demand.Fit(needs, nodes, o)
	if err != nil {
		if needs.NodeList != "" && ng.fitsOneDay(needs, nodes[there:]) {
			return refusal{reason: reasons.Resources, waits: forNodes}, false // one that it names has another job, or ends
		}
		return refusal{reason: reasons.BadConstraints, detail: err.Error(), back: errors.Is(err, demand.ErrNoFit), waits: forCloud}, false
	}
	var chosen []string
	kept := map[*machine]bool{}
	for k := range shares {
		if n := shares[k].Node - there; n >= 0 {
			shares[k].Node = there + len(chosen)
			chosen = append(chosen, names[n])
		} else {
			kept[machines[shares[k].Node]] = true
		}
	}
	for _, name := range ng.namesFor(j, need+ng.hosts()) { // the rest of the last slice
		if len(chosen)%ng.hosts() == 0 {
			break
		}
		if !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	count := len(chosen)
	if room := ng.room(); count > room {
		byName := needs.NodeList != "" || needs.Exclude != ""
		return s.makeRoom(j, ng, count, room, func(m *machine) bool { return m.usable(j.User.Name) && (kept[m] || !byName) }), false
	}
	number := s.numbers.next(s.schedule)
	if number == 0 {
		return waits, false
	}
	g := s.fleet.newGang(number, ng, chosen, near)
	g.Run = g.runFor(j)
	r.gangs = append(r.gangs, g)
	s.take(r, i, needs, shares, append(machines, g.machines...))
	return refusal{}, true
}

// makeRoom ends idle machines that the job cannot use, if that would make room for those that it needs. use reports which of its node group it can.
func (s *scheduler) makeRoom(j *job, ng *nodeGroup, count, room int, use func(*machine) bool) refusal {
	if count > ng.pool.Max || ng.offering.Max > 0 && count > ng.offering.Max {
		return refusal{reason: reasons.PartitionNodes, back: true,
			detail: fmt.Sprintf("it needs %d new machines, and there may be %d", count, max(min(ng.pool.Max, ng.offering.Max), ng.pool.Max))}
	}
	var idle []*machine
	for _, other := range ng.pool.groups {
		for _, m := range other.machines {
			if len(m.runs) == 0 && m.keeper == nil && m.State == machineUp && (other != ng || !use(m)) && m.sliceFree() {
				idle = append(idle, m)
			}
			if m.State == machineEnding {
				room++ // it will be there soon
			}
		}
	}
	if short := count - room; short > 0 && short <= len(idle) {
		for _, m := range idle[:short] {
			s.fleet.endMachine(m, "makes room")
		}
	}
	return refusal{reason: reasons.Resources, waits: forMachines, short: count}
}
