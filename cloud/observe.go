package cloud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// version is what a rented pool says it runs.
const version = federation.OwnVersion

// maxVirtual bounds the nodes that are shown of an offering and do not exist: no plan binds as many at one time.
const maxVirtual = 1024

// lacks are the options that rented machines cannot keep: nobody counts licenses there, or reserves ports, or shares GRES, and an OCI bundle is started by the script.
var lacks = []string{"licenses", "container", "container-id", "resv-ports", "gres-flags=SHARING"}

// Observe implements federation.Driver. It is answered from memory: the cloud is asked by loops.
func (d *Driver) Observe(ctx context.Context) (*federation.Observation, error) {
	if err := d.isLoaded(ctx); err != nil {
		return nil, err
	}
	if err := wait(ctx, d.offers.asked, nil); err != nil { // the first answer, whatever it is
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.access.err(); err != nil {
		return nil, err
	}
	if !d.pools.known {
		return nil, fmt.Errorf("what can be rented is not known: %w", d.offers.unknown())
	}
	o := &federation.Observation{At: d.now(), Cluster: string(d.cfg.Site), Version: version, Mode: federation.Pinned, OnlyUser: d.cfg.OnlyUser, NoSlurm: true,
		Lacks: slices.Clone(lacks)}
	for _, p := range d.pools.all {
		if !p.retired {
			d.fleet.observePool(o, p)
		}
	}
	slices.SortFunc(o.Nodes, func(a, b federation.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, j := range d.jobs.byID {
		switch {
		case !j.End.IsZero():
		case j.run != nil:
			o.Running = append(o.Running, j.running(o.At)...)
		case j.subqueue != nil:
			o.PendingJobs++
			o.Waiting = append(o.Waiting, j.waits())
		}
	}
	o.Tree = d.fleet.tree()
	o.OldPrices, o.PricedAt = oldPrices(d.pools.offered(), d.cfg.MaxAge, o.At)
	if d.offers.err != nil {
		o.Warnings = append(o.Warnings, "what can be rented could not be read again: "+d.offers.err.Error())
	}
	if n := len(d.orphans.seen); n > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("%d machines of this site belong to no recorded gang and will be ended", n))
	}
	return o, nil
}

// observePool adds a pool's partition and nodes: machines that are there, and those that there could be.
func (f *fleet) observePool(o *federation.Observation, p *pool) {
	part := federation.Partition{Name: p.Name, Default: p.Default, Up: true, State: "UP", MaxTime: p.MaxTime, DefaultTime: p.DefaultTime, MinNodes: 1, MaxNodes: p.Max,
		DefMemPerCPU: p.DefMemPerCPU}
	if part.MaxTime == 0 {
		part.MaxTime = sbatch.Unlimited
	}
	if !p.Shared { // a job has its machines to itself
		part.Info = &federation.PartitionInfo{OverSubscribe: "EXCLUSIVE"}
	}
	for _, ng := range p.groups {
		shape := ng.node()
		ng.risk = ng.riskOf()
		for _, m := range ng.machines {
			o.Nodes = append(o.Nodes, m.node(shape, f.now()))
			part.Nodes = append(part.Nodes, m.Name)
		}
		n := ng.virtual()
		virtual := shape
		virtual.Rented = ng.rented(max(ng.offering.Boot, time.Millisecond))
		virtual.State = []string{"IDLE", "CLOUD", "POWERED_DOWN"}
		if v, ok := f.mayGrow(ng); !ok && n > 0 {
			virtual.State, virtual.Reason = []string{"DOWN", "CLOUD", "POWERED_DOWN"}, string(v.reason)+": "+v.detail
			if v.reason != reasons.ReqNodeNotAvail {
				virtual.Rented.Refused = &federation.Refusal{Reason: v.reason, Detail: v.detail}
			}
		}
		names := ng.newNames(n)
		for _, name := range names {
			virtual.Name = name
			o.Nodes = append(o.Nodes, virtual)
		}
		for _, name := range ng.heldNames() {
			virtual.Name, virtual.State, virtual.Reason = name, []string{"IDLE", "CLOUD", "POWERED_DOWN", "DRAIN"}, f.held[name]
			o.Nodes = append(o.Nodes, virtual)
			names = append(names, name)
		}
		part.Nodes = append(part.Nodes, names...)
	}
	starts := max(p.Max-p.used()-p.heldNames(), 0)
	part.MaxStarts = &starts
	part.Allowances = p.allowances(f.now())
	o.Partitions = append(o.Partitions, part)
}

// used are the pool's machines but for those that have no job, which would make room for others.
func (p *pool) used() (n int) {
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			if len(m.runs) > 0 || m.keeper != nil || m.State == machineEnding || m.drain != "" || m.Held != "" {
				n++
			}
		}
	}
	return n
}

// virtual is how many nodes are shown beside the machines that are there: as many as the node group may have in all, also while others have taken the pool's
// room. A job that needs so many is to wait then, and not to be refused.
func (ng *nodeGroup) virtual() int {
	if ng.gone {
		return 0
	}
	most := ng.pool.Max
	if ng.offering.Max > 0 {
		most = min(most, ng.offering.Max)
	}
	return min(max(most-len(ng.machines)-len(ng.heldNames()), 0), maxVirtual)
}

// node is the configured side of a group's machines. They share its slices.
func (ng *nodeGroup) node() federation.Node {
	f := &ng.offering
	n := federation.Node{CPUs: f.CPUs, Mem: f.Mem, TmpDisk: ng.pool.Disk, Features: ng.features(), Partitions: []string{ng.pool.Name}, Sockets: 1, Cores: f.CPUs, Threads: 1}
	if f.GPUs > 0 {
		n.GRES = []federation.GRES{{Name: "gpu", Type: f.GPUType, Total: f.GPUs}}
	}
	for _, g := range f.GRES {
		n.GRES = append(n.GRES, federation.GRES{Name: g.Name, Type: g.Type, Total: g.Count})
	}
	return n
}

// rented says what a machine of the node group costs. It is equal for all of them but for the time to boot.
func (ng *nodeGroup) rented(boot time.Duration) *federation.Rented {
	old := ""
	if f := ng.pool.fleet; hasAge(&ng.offering) && f.cfg.MaxAge.Old(ng.offering.Market, ng.offering.PricedAt, f.now()) {
		old = ng.offering.PricedAt.UTC().Format(time.DateOnly)
	}
	return &federation.Rented{OldPrice: old, Offering: ng.offering.ID, PricePerHour: ng.offering.Price, Whole: !ng.pool.Shared, Boot: boot, Interrupts: ng.risk.PerHour, Taken: ng.risk.Taken, TakenIn: ng.risk.Hours, Hosts: ng.offering.Hosts,
		Market: string(ng.offering.Market), Zone: ng.offering.Zone, Chance: ng.pool.fleet.cool.chance(&ng.offering), Paid: paid(&ng.offering), Until: ng.offering.Until}
}

// node is a machine as a Slurm node.
func (m *machine) node(n federation.Node, now time.Time) federation.Node {
	n.Name, n.CPUsUsed, n.MemUsed = m.Name, m.cpus, m.mem
	boot := time.Duration(0)
	state := "IDLE"
	switch {
	case len(m.runs) > 0 && (m.cpus >= n.CPUs || !m.pool.Shared):
		state = "ALLOCATED"
	case len(m.runs) > 0:
		state = "MIXED"
	case m.keeper != nil: // all of it waits for its job
		state, n.CPUsUsed, n.MemUsed = "ALLOCATED", n.CPUs, n.Mem
	}
	n.State = []string{state, "CLOUD"}
	switch m.State {
	case machineAsked, machineBooting:
		n.State = append(n.State, "POWERING_UP")
		boot = max(m.group.offering.Boot-now.Sub(m.gang.Asked), time.Millisecond)
	case machineEnding:
		n.State = append(n.State, "POWERING_DOWN")
		n.Reason = m.Why
	}
	if m.drain != "" && m.State != machineEnding {
		n.State, n.Reason = append(n.State, "DRAIN"), m.drain
	} else if m.Held != "" {
		n.State, n.Reason = append(n.State, "DRAIN"), m.Held
	}
	if len(n.GRES) > 0 {
		n.GRES = slices.Clone(n.GRES)
		for _, used := range m.gpus {
			if used || m.keeper != nil && len(m.runs) == 0 {
				n.GRES[0].Used++
			}
		}
		for i := range n.GRES {
			if g := &n.GRES[i]; g.Name != "gpu" {
				g.Used = m.used(gres.Resource{Name: g.Name, Type: g.Type})
			}
		}
	}
	n.Rented = m.group.rented(boot)
	if until := m.until(); !until.IsZero() {
		n.Rented.Until = until
	}
	if m.State == machineUp || m.State == machineEnding {
		n.Info = m.info(now)
	}
	return n
}

// info is what slurmd would tell of the machine: it began with the agent.
func (m *machine) info(now time.Time) *federation.NodeInfo {
	i := &federation.NodeInfo{Hostname: m.Name, Address: m.Addr, Version: version, Booted: m.Created, Started: m.Ready, LastBusy: m.idle,
		CPULoad: int(m.load.Load1 * 100), FreeMem: sbatch.MemMiB(m.load.FreeMi)}
	if len(m.runs) > 0 {
		i.LastBusy = now
	}
	if len(m.problems) > 0 { // as the health check of a Slurm node has it
		var found []health.Check
		for _, p := range m.problems {
			found = append(found, health.Check{Code: health.Code(p.Code), Text: p.Text, Device: p.Device})
		}
		i.Extra = health.WriteChecks(found)
	}
	return i
}

// stake is whose a job is, and how it stands.
func (j *job) stake(limit time.Duration) federation.Stake {
	s := federation.Stake{User: j.User.Name, Account: j.Job.Spec.Account, QOS: j.Job.Spec.QOS, Partition: j.Partition, Limit: limit}
	return s
}

// waits is a job for which no machine has been found.
func (j *job) waits() federation.WaitingJob {
	return federation.WaitingJob{Job: j.id(), Ours: true, Nodes: max(j.Job.Spec.MinNodes, 1), Stake: j.stake(j.Job.Spec.TimeLimit)}
}

// running is a job that holds machines, one entry for each component and share. Nobody knows when one that is suspended ends.
func (j *job) running(now time.Time) []federation.RunningJob {
	var list []federation.RunningJob
	r := j.run
	end := time.Time{}
	if limit := j.limit(r.machines[0].pool); limit < sbatch.Unlimited && j.State != federation.Suspended {
		from := j.Start
		if from.IsZero() {
			from = r.machines[0].gang.Asked.Add(r.machines[0].group.offering.Boot)
		}
		end = from.Add(limit + j.Suspension.Suspended(from, now, false))
	}
	for i := range r.Members {
		k, kind := &r.Members[i], r.machines[i].gang.Offering.GPUType
		if n := len(list); n > 0 && i > 0 {
			last, before := &list[n-1], &r.Members[i-1]
			if before.Group == k.Group && last.CPUs == k.CPUs && last.Mem == k.Mem && len(before.GPUs) == len(k.GPUs) && slices.Equal(before.GRES, k.GRES) {
				last.Nodes = append(last.Nodes, k.Name)
				continue
			}
		}
		one := federation.RunningJob{Job: j.id() + federation.JobID(k.Group), End: end, Nodes: []string{k.Name}, CPUs: k.CPUs, Mem: k.Mem,
			Stake: j.stake(j.limit(r.machines[0].pool))}
		if len(k.GPUs) > 0 {
			one.GRES = []federation.GRES{{Name: "gpu", Type: kind, Total: len(k.GPUs), Used: len(k.GPUs)}}
		}
		for _, g := range k.GRES {
			one.GRES = append(one.GRES, federation.GRES{Name: g.Name, Type: g.Type, Total: g.Count, Used: g.Count})
		}
		list = append(list, one)
	}
	return list
}
