package cloud

import (
	"context"
	"slices"
	"strconv"
	"time"

	"fsub/cloud/provider"
	"fsub/topology"
)

// lookAtTopology asks how near to each other machines are of which that is not known yet. It follows a listing, so it is no more often than that.
func (sw *sweeper) lookAtTopology(ctx context.Context) {
	t, ok := sw.cfg.Provider.(provider.Topologist)
	if !ok {
		return
	}
	sw.mu.Lock()
	var ids []provider.InstanceID
	for _, m := range sw.fleet.machines {
		if m.State == machineUp && !m.placed && len(m.gang.machines) > 1 {
			m.placed = sw.now().Sub(m.Ready) > 10*time.Minute // it may be told some time after the machine is up
			ids = append(ids, m.Instance)
		}
	}
	sw.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	near, err := t.Topology(ctx, ids)
	if err != nil {
		sw.log.Warn("ask for the machines' topology", "err", err)
		return
	}
	sw.mu.Lock()
	defer sw.mu.Unlock()
	for _, m := range sw.fleet.machines {
		if groups, ok := near[m.Instance]; ok {
			m.near, m.placed = groups, true
		}
	}
	sw.news.nodes()
}

// tree is how the machines are wired, as far as the cloud has told. Switches are numbered by depth: the same name may be used on two levels.
func (f *fleet) tree() topology.Tree {
	var tree topology.Tree
	at := map[string]int{}
	for _, p := range f.pools.all {
		for _, ng := range p.groups {
			for _, m := range ng.machines {
				below := ""
				for depth := len(m.near) - 1; depth >= 0; depth-- {
					level := len(m.near) - 1 - depth
					name := m.near[depth]
					if level > 0 {
						name += "." + strconv.Itoa(level)
					}
					i, ok := at[name]
					if !ok {
						i = len(tree.Switches)
						at[name] = i
						tree.Switches = append(tree.Switches, topology.Switch{Name: name, Level: level})
					}
					s := &tree.Switches[i]
					if level == 0 {
						s.Nodes = append(s.Nodes, m.Name)
					} else if !slices.Contains(s.Children, below) {
						s.Children = append(s.Children, below)
					}
					below = name
				}
			}
		}
	}
	return tree
}
