package simsite

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/topology"
)

// Observe implements [federation.Driver].
func (d *Driver) Observe(ctx context.Context) (*federation.Observation, error) {
	var o *federation.Observation
	at := d.s.clock.Now()
	err := d.call(ctx, OpNodes, func() error {
		if d.s.down {
			return errController
		}
		o = d.s.observe()
		o.MaxJobSeen = d.maxOwn()
		for i := range o.Waiting {
			o.Waiting[i].Ours = d.ours(uint32(o.Waiting[i].Job))
		}
		o.At = at
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// maxOwn is the highest number of the site's own counter in the controller's memory.
func (d *Driver) maxOwn() uint32 {
	highest := uint32(0)
	for _, j := range d.s.order {
		if j != nil && j.id < uint32(d.cfg.FirstID) {
			highest = max(highest, j.id)
		}
	}
	return highest
}

func (s *Site) observe() *federation.Observation {
	o := &federation.Observation{Cluster: s.cfg.Name, Version: s.cfg.Version, Mode: federation.Pinned, SlurmUser: s.cfg.SlurmUser, Tree: s.tree}
	for _, p := range s.parts {
		o.Partitions = append(o.Partitions, p.observed())
	}
	for _, n := range s.nodes {
		o.Nodes = append(o.Nodes, n.observed())
	}
	slices.SortFunc(o.Nodes, func(a, b federation.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	for _, r := range s.resvs {
		if s.now < r.End.UnixNano() {
			o.Reservations = append(o.Reservations, r.Reservation)
		}
	}
	for _, j := range s.order {
		switch {
		case j == nil:
		case j.state == federation.Running:
			o.Running = append(o.Running, s.holds(j))
		case j.queued || j.state == federation.Pending && s.throttled(j):
			o.PendingJobs += j.units()
		}
		if j != nil && j.state == federation.Pending {
			o.Waiting = append(o.Waiting, s.waits(j))
		}
	}
	if s.cfg.EnforceAssociations {
		o.Associations = federation.Associations{}
		id := int64(1)
		for _, u := range s.cfg.Users {
			for i, a := range u.Accounts {
				id++
				o.Associations[u.Name] = append(o.Associations[u.Name], federation.Association{Account: a, QOS: []string{"normal"}, Default: i == 0, ID: id, Shares: 1})
			}
		}
	}
	return o
}

func (p *partition) observed() federation.Partition {
	o := federation.Partition{Name: p.Name, Default: p.Default, Up: p.up(), State: p.State, MaxTime: p.MaxTime, DefaultTime: p.DefaultTime,
		MinNodes: p.MinNodes, MaxNodes: p.MaxNodes, AllowAccounts: p.AllowAccounts, DenyAccounts: p.DenyAccounts, DefMemPerCPU: p.DefMemPerCPU,
		PriorityTier: p.PriorityTier, RootOnly: p.RootOnly}
	def(&o.MaxTime, sbatch.Unlimited)
	for _, n := range p.nodes {
		o.Nodes = append(o.Nodes, n.name)
	}
	return o
}

func (n *node) observed() federation.Node {
	return federation.Node{Name: n.name, State: n.state(), Reason: n.reason, CPUs: n.cpus, Mem: n.mem, CPUsUsed: n.usedCPUs, MemUsed: n.usedMem,
		GRES: slices.Clone(n.gres), Features: n.features, Partitions: n.parts, Sockets: n.cpus, Cores: 1, Threads: 1}
}

func (s *Site) stake(j *job) federation.Stake {
	o := federation.Stake{User: j.user.Name, Account: j.account, QOS: j.qos, Partition: s.partNames(j), Limit: sbatch.Unlimited}
	if j.held == federation.NotHeld {
		o.Priority = j.prio
	}
	if j.limit > 0 {
		o.Limit = (time.Duration(j.limit) + time.Minute - 1).Truncate(time.Minute)
	}
	return o
}

func (s *Site) waits(j *job) federation.WaitingJob {
	return federation.WaitingJob{Job: federation.JobID(j.groupID()), Idle: !j.queued, Nodes: j.need.minNodes, Stake: s.stake(j)}
}

func (s *Site) holds(j *job) federation.RunningJob {
	o := federation.RunningJob{Job: federation.JobID(j.groupID()), Stake: s.stake(j)}
	if j.limit > 0 {
		o.End = second(j.start + j.limit)
	}
	for i := range j.shares {
		sh := &j.shares[i]
		o.Nodes = append(o.Nodes, sh.n.name)
		if i > 0 {
			continue
		}
		o.CPUs, o.Mem = sh.cpus, sh.mem
		for k, used := range sh.gres {
			if used > 0 {
				o.GRES = append(o.GRES, federation.GRES{Name: sh.n.gres[k].Name, Type: sh.n.gres[k].Type, Used: used})
			}
		}
	}
	return o
}

// Tree is the site's switch tree, which no slurmrestd tells.
func (s *Site) Tree() topology.Tree { return s.tree }

// buildTree makes the switch tree of the configuration.
func buildTree(cfg *Config) (topology.Tree, error) {
	var t topology.Tree
	level := map[string]int{}
	for _, sw := range cfg.Switches {
		nodes, err := expandHosts(sw.Nodes)
		if err != nil {
			return t, err
		}
		children, err := expandHosts(sw.Switches)
		if err != nil {
			return t, err
		}
		for _, c := range children {
			level[sw.Name] = max(level[sw.Name], level[c]+1)
		}
		t.Switches = append(t.Switches, topology.Switch{Name: sw.Name, Level: level[sw.Name], Nodes: nodes, Children: children})
	}
	return t, nil
}
