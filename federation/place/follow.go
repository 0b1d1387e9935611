package place

import (
	"maps"
	"slices"

	"fsub/federation"
	"fsub/topology"
)

// followed says in what a model differs from the one before it.
type followed struct {
	judged bool    // jobs must be judged again
	nodes  []int32 // on which something else is free or falls free at another time, or that have gone up or down
}

// follow returns the model of the next observation. It is nil if that must be read from scratch, because more has changed than what runs on the
// nodes and which of them are up.
func (m *model) follow(obs *federation.Observation) (*model, followed) {
	if m == nil || obs == nil || !sameConfiguration(m.obs, obs) {
		return nil, followed{}
	}
	next, f := *m, followed{}
	next.obs, next.wiring.noSlurm, next.wiring.version = obs, obs.NoSlurm, obs.Version
	d := differ{old: m, next: &next, changed: make([]bool, len(obs.Nodes))}
	if !d.nodes() {
		return nil, followed{}
	}
	d.running()
	for n, changed := range d.changed {
		if changed {
			f.nodes = append(f.nodes, int32(n))
		}
	}
	d.free(f.nodes)
	next.parts = make([]*federation.Partition, len(m.parts))
	for p, part := range m.parts {
		next.parts[p] = &obs.Partitions[slices.IndexFunc(obs.Partitions, func(q federation.Partition) bool { return q.Name == part.Name })]
	}
	if f.judged = d.states; d.ups {
		next.moveUps()
	}
	if d.idle {
		next.starts = nil
		next.readStarts()
	}
	return &next, f
}

// sameConfiguration reports whether two observations say the same of partitions, reservations and the like.
func sameConfiguration(a, b *federation.Observation) bool {
	return len(a.Nodes) == len(b.Nodes) && slices.Equal(a.Lacks, b.Lacks) && a.OnlyUser == b.OnlyUser &&
		slices.EqualFunc(a.Partitions, b.Partitions, samePartition) &&
		slices.EqualFunc(a.Reservations, b.Reservations, sameReservation) &&
		a.Tree.Same(b.Tree) && sameRightsSeen(a, b) && (a.Licenses == nil) == (b.Licenses == nil) && slices.EqualFunc(a.Licenses, b.Licenses, sameLicense)
}

func samePartition(a, b federation.Partition) bool {
	starts := a.MaxStarts == b.MaxStarts || a.MaxStarts != nil && b.MaxStarts != nil && *a.MaxStarts == *b.MaxStarts
	return starts && a.Name == b.Name && a.Default == b.Default && a.Up == b.Up && a.State == b.State && a.MaxTime == b.MaxTime && a.DefaultTime == b.DefaultTime &&
		a.MinNodes == b.MinNodes && a.MaxNodes == b.MaxNodes && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.AllowAccounts, b.AllowAccounts) &&
		slices.Equal(a.DenyAccounts, b.DenyAccounts) && slices.Equal(a.AllowQOS, b.AllowQOS) && a.DefMemPerCPU == b.DefMemPerCPU &&
		a.DefMemPerNode == b.DefMemPerNode && sameTree(a.Tree, b.Tree) && slices.Equal(a.Allowances, b.Allowances) && a.RootOnly == b.RootOnly && a.QOS == b.QOS
}

func sameTree(a, b *topology.Tree) bool { return a == b || a != nil && b != nil && a.Same(*b) }

func sameLicense(a, b federation.License) bool { return a.Name == b.Name && a.Total == b.Total }

func sameReservation(a, b federation.Reservation) bool {
	if a.For.Of() != 0 && a.For == b.For {
		return slices.Equal(a.Nodes, b.Nodes) // nothing else of it is read
	}
	return a.For == b.For && a.Name == b.Name && a.Start.Equal(b.Start) && a.End.Equal(b.End) && slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Users, b.Users) &&
		slices.Equal(a.Accounts, b.Accounts)
}

// sameRightsSeen reports whether two observations give users the same rights.
func sameRightsSeen(a, b *federation.Observation) bool {
	limited := func(p federation.Partition) bool { return len(p.AllowAccounts)+len(p.DenyAccounts) > 0 }
	rootOnly := func(p federation.Partition) bool { return p.RootOnly }
	return a.OnlyUser == b.OnlyUser && a.SlurmUser == b.SlurmUser && maps.Equal(a.StrictQOS, b.StrictQOS) && rootQOS(a) == rootQOS(b) &&
		slices.ContainsFunc(a.Partitions, limited) == slices.ContainsFunc(b.Partitions, limited) &&
		slices.ContainsFunc(a.Partitions, rootOnly) == slices.ContainsFunc(b.Partitions, rootOnly) &&
		(a.Associations == nil) == (b.Associations == nil) &&
		maps.EqualFunc(a.Associations, b.Associations, func(a, b []federation.Association) bool { return slices.EqualFunc(a, b, sameAssociation) })
}

func sameAssociation(a, b federation.Association) bool {
	return a.Account == b.Account && a.Partition == b.Partition && a.Default == b.Default && a.DefaultQOS == b.DefaultQOS && slices.Equal(a.QOS, b.QOS)
}

// differ compares two observations of like configuration.
type differ struct {
	old, next *model
	changed   []bool // by node
	states    bool   // what is said of a node that is not up is different
	ups       bool   // other nodes are up
	idle      bool   // other nodes are idle, where that matters
	gone, new []*federation.RunningJob
}

// nodes compares what nodes are and what is in use on them. It is false if the nodes themselves differ.
func (d *differ) nodes() bool {
	was, is := d.old.obs.Nodes, d.next.obs.Nodes
	if sameSlice(was, is) {
		return true
	}
	for i := range is {
		a, b := &was[i], &is[i]
		if !sameNode(a, b) {
			return false
		}
		if a.CPUsUsed != b.CPUsUsed || a.MemUsed != b.MemUsed || !sameSlice(a.GRES, b.GRES) && !slices.Equal(a.GRES, b.GRES) {
			d.changed[i] = true
		}
		if !sameSlice(a.State, b.State) && !slices.Equal(a.State, b.State) || a.Suspect != b.Suspect {
			d.state(int32(i), a, b)
			if b.Rented != nil && d.next.up[i] != d.old.up[i] { // whether it must start first has been read with that
				return false
			}
		}
	}
	return true
}

// sameNode reports whether two nodes are alike but for their state and what is in use.
func sameNode(a, b *federation.Node) bool {
	gres := func(a, b federation.GRES) bool { return a.Name == b.Name && a.Type == b.Type && a.Total == b.Total }
	return a.Name == b.Name && a.CPUs == b.CPUs && a.Mem == b.Mem && a.Sockets == b.Sockets && a.Cores == b.Cores && a.Threads == b.Threads &&
		(sameSlice(a.GRES, b.GRES) || slices.EqualFunc(a.GRES, b.GRES, gres)) && (sameSlice(a.Features, b.Features) || slices.Equal(a.Features, b.Features)) &&
		(sameSlice(a.Partitions, b.Partitions) || slices.Equal(a.Partitions, b.Partitions)) &&
		a.BadPart == b.BadPart && a.Rented.Same(b.Rented) && (a.Rented == nil || a.Reason == b.Reason)
}

// state compares what two states of a node mean.
func (d *differ) state(n int32, a, b *federation.Node) {
	up := b.Usable() || (len(d.old.blocks[n]) > 0 || d.old.promised[n]) && usableButReserved(b)
	if up != d.old.up[n] {
		if !d.ups {
			d.next.up = slices.Clone(d.old.up)
		}
		d.next.up[n], d.changed[n], d.ups, d.states = up, true, true, true
	}
	d.states = d.states || !up
	if d.old.starts != nil && slices.Contains(a.State, "IDLE") != slices.Contains(b.State, "IDLE") {
		d.changed[n], d.idle = true, true
	}
	if slices.Contains(a.State, "COMPLETING") != slices.Contains(b.State, "COMPLETING") {
		d.changed[n] = true
	}
}

// running compares what runs. Sites list their jobs by number; a job out of order counts as gone and new.
func (d *differ) running() {
	was, is := d.old.obs.Running, d.next.obs.Running
	if sameSlice(was, is) {
		return
	}
	i, k := 0, 0
	for i < len(was) || k < len(is) {
		switch {
		case i < len(was) && k < len(is) && sameRunning(&was[i], &is[k]):
			i++
			k++
		case k == len(is) || i < len(was) && was[i].Job <= is[k].Job:
			d.touch(&was[i])
			d.gone = append(d.gone, &was[i])
			i++
		default:
			d.touch(&is[k])
			d.new = append(d.new, &is[k])
			k++
		}
	}
}

func sameRunning(a, b *federation.RunningJob) bool {
	return a.Job == b.Job && (a.End == b.End || a.End.Equal(b.End)) && a.CPUs == b.CPUs && a.Mem == b.Mem &&
		(sameSlice(a.Nodes, b.Nodes) || slices.Equal(a.Nodes, b.Nodes)) && (sameSlice(a.GRES, b.GRES) || slices.Equal(a.GRES, b.GRES))
}

func (d *differ) touch(j *federation.RunningJob) {
	for _, name := range j.Nodes {
		if n, ok := d.old.nodeAt[name]; ok {
			d.changed[n] = true
		}
	}
}

// free updates what is free on some nodes, and when more will be.
func (d *differ) free(nodes []int32) {
	m := d.next
	if len(nodes) == 0 {
		return
	}
	m.cpu, m.mem, m.gres, m.frees = slices.Clone(m.cpu), slices.Clone(m.mem), slices.Clone(m.gres), slices.Clone(m.frees)
	for _, n := range nodes {
		clear(m.gres[int(n)*len(m.slots) : (int(n)+1)*len(m.slots)])
		m.readFree(n, &m.obs.Nodes[n])
		m.frees[n] = slices.DeleteFunc(slices.Clone(m.frees[n]), func(r release) bool { return r.rest })
	}
	d.edit(d.gone, func(n int32, r release) {
		i := slices.IndexFunc(m.frees[n], func(o release) bool {
			return o.at == r.at && o.cpu == r.cpu && o.mem == r.mem && slices.Equal(o.gres, r.gres)
		})
		if i >= 0 {
			m.frees[n] = slices.Delete(m.frees[n], i, i+1)
		}
	})
	d.edit(d.new, func(n int32, r release) { m.frees[n] = append(m.frees[n], r) })
	for _, n := range nodes {
		m.finishFrees(n)
	}
}

// edit calls do with what each job gives back on each of its nodes.
func (d *differ) edit(jobs []*federation.RunningJob, do func(n int32, r release)) {
	for _, j := range jobs {
		if j.End.IsZero() {
			continue
		}
		for _, name := range j.Nodes {
			if n, ok := d.old.nodeAt[name]; ok {
				do(n, d.old.releaseOf(n, j))
			}
		}
	}
}

// moveUps puts the nodes that are up into their cells, and counts them.
func (m *model) moveUps() {
	m.cells = slices.Clone(m.cells)
	for c := range m.cells {
		m.cells[c].nodes = nil
	}
	for n, c := range m.cellOf {
		if c >= 0 && m.up[n] {
			m.cells[c].nodes = append(m.cells[c].nodes, int32(n))
		}
	}
	m.countPools()
}

// timely reports whether what jobs can run depends on the time: rented nodes are given back, budgets run out.
func (m *model) timely() bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.obs.Partitions, func(p federation.Partition) bool { return len(p.Allowances) > 0 }) ||
		slices.ContainsFunc(m.pools, func(p federation.Pool) bool { return p.Shape.Rented != nil && !p.Shape.Rented.Until.IsZero() })
}
