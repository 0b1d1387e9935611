package cloud

import (
	"context"
	"fsub/cloud/provider"
	"slices"
	"strconv"
	"time"

	"fsub/topology"
)

// lookAtTopology asks how near to each other machines are of which that is not known yet. It follows a listing, so it is no more often than that.
func (d *Driver) lookAtTopology(ctx context.Context) {
	t, ok := d.cfg.Provider.(provider.Topologist)
	if !ok {
		return
	}
	d.mu.Lock()
	var ids []provider.InstanceID
	for _, m := range d.machines {
		if m.State == machineUp && !m.placed && len(m.gang.machines) > 1 {
			m.placed = d.now().Sub(m.Ready) > 10*time.Minute // it may be told some time after the machine is up
			ids = append(ids, m.Instance)
		}
	}
	d.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	near, err := t.Topology(ctx, ids)
	if err != nil {
		d.log.Warn("ask for the machines' topology", "err", err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.machines {
		if groups, ok := near[m.Instance]; ok {
			m.near, m.placed = groups, true
		}
	}
	d.news.nodes()
}

// tree is how the machines are wired, as far as the cloud has told. Switches are numbered by depth: the same name may be used on two levels.
func (d *Driver) tree() topology.Tree {
	var tree topology.Tree
	at := map[string]int{}
	for _, p := range d.pools {
		for _, l := range p.lanes {
			for _, m := range l.machines {
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
