package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// look is what a site answered, before it is translated.
type look struct {
	release wire.Release
	nodes   []federation.Node
	parts   []federation.Partition
	resvs   []federation.Reservation
	jobs    *view
	running []federation.RunningJob
	waiting []federation.WaitingJob
	assocs  associations

	licenses []federation.License
}

// Observe reads nodes, partitions, reservations and the jobs that run; slurmdbd's associations once a minute. Four calls,
// and one for each running job that is new to us.
func (d *Driver) Observe(ctx context.Context) (*federation.Observation, error) {
	ctx = calling(ctx, forLooks)
	o := &federation.Observation{At: d.c.now(), Mode: federation.Pinned}
	st, err := d.rights.standing(ctx)
	if err == nil && !st.known {
		st, err = d.rights.probe(ctx)
	}
	if err != nil {
		return nil, err
	}
	d.rights.set(st)
	if st.mapped {
		o.Mode, o.OnlyUser = federation.Mapped, st.onlyUser
		if !st.wckey {
			d.remarks.add("the site tracks wckeys, so that the keys of attempts are in the comments of jobs: it must store them (AccountingStoreFlags=job_comment)")
		}
	}
	if name := d.c.tokens.name(); st.onlyUser == "" && !st.each && name != "root" {
		o.SlurmUser = name
	}
	tr, err := d.c.negotiated(ctx)
	if err != nil {
		return nil, err
	}
	o.Lacks = slices.Clone(tr.lacks)
	if st.mapped || tr.old { // where the site numbers them, the components cannot be told from its other jobs
		o.Lacks = append(o.Lacks, "hetjob")
	}
	l, err := d.look(ctx, st)
	if err != nil {
		return nil, err
	}
	o.Cluster, o.Version = l.release.Cluster, l.release.Release
	if tr.old {
		o.Cluster = d.queue.clusterName(ctx)
	}
	o.Running, o.Waiting, o.Associations, o.Accounts = l.running, l.waiting, l.assocs.list, l.assocs.accounts
	o.Licenses, o.Accounting, o.StrictQOS = l.licenses, l.assocs.down, l.assocs.strict
	if !st.mapped { // else its numbers are its own business
		o.MaxJobSeen = d.maxJob(l.jobs.rows)
	}
	o.Nodes, o.Reservations = l.nodes, l.resvs
	o.Partitions = slices.Clone(l.parts)
	d.chooseDefault(o)
	for _, r := range l.jobs.rows {
		if state(r.state) == federation.Pending {
			o.PendingJobs++
		}
	}
	wired, err := d.wiring.of(ctx, d.c.now(), places(o.Nodes))
	if err != nil {
		d.remarks.add(err.Error()) // the last good one stays in use
	}
	o.Tree = wired.Tree
	for i := range o.Partitions {
		p := &o.Partitions[i]
		if t, ok := wired.Named[p.Topology]; ok && !t.Same(o.Tree) {
			p.Tree = &t
		}
	}
	o.Credential, o.CredentialEnds = d.c.tokens.expires(d.c.now()), d.c.tokens.ends()
	o.Warnings = append(o.Warnings, d.warnings(o)...)
	return o, nil
}

// places are where nodes say that they are, by name; nil if none does.
func places(nodes []federation.Node) map[string]string {
	var found map[string]string
	for i := range nodes {
		if info := nodes[i].Info; info != nil && info.Place != "" {
			if found == nil {
				found = map[string]string{}
			}
			found[nodes[i].Name] = info.Place
		}
	}
	return found
}

// look makes all requests at the same time. If one part fails there is no observation.
func (d *Driver) look(ctx context.Context, st standing) (*look, error) {
	l := new(look)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		var a wire.NodesResponse
		l.nodes, err = d.nodes.nodesNow(ctx, &a)
		l.release = a.Meta.Slurm
		return err
	})
	g.Go(func() (err error) {
		var a wire.PartitionsResponse
		l.parts, err = d.parts.get(ctx, d.site, asked[wire.Partition, federation.Partition]{into: &a, found: func() []wire.Partition { return a.Partitions }, read: d.partition})
		if err != nil && ctx.Err() == nil && !errors.Is(err, federation.ErrDenied) {
			// slurmrestd of 24.11 asks slurmdbd before it tells of partitions, and has no answer while that is down.
			if old := d.parts.kept(); len(old) > 0 && !d.members.accountingAnswers(ctx) {
				l.parts, err = old, nil
			}
		}
		return err
	})
	g.Go(func() (err error) {
		var a wire.ReservationsResponse
		l.resvs, err = d.resvs.get(ctx, d.site, asked[wire.Reservation, federation.Reservation]{into: &a, found: func() []wire.Reservation { return a.Reservations }, read: d.reservation})
		return err
	})
	g.Go(func() (err error) {
		if l.jobs, err = d.holders.lookAtNodes(ctx, st); err == nil {
			l.running, l.waiting, err = d.holders.look(ctx, st, l.jobs)
		}
		return err
	})
	g.Go(func() (err error) {
		l.assocs, err = d.members.associationsNow(ctx)
		return err
	})
	g.Go(func() error {
		l.licenses = d.members.licensesNow(ctx)
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if len(l.nodes) == 0 || len(l.parts) == 0 {
		return nil, fmt.Errorf("site %s: %w: it reports no nodes or no partitions", d.cfg.Name, federation.ErrUnavailable)
	}
	d.lost.look(l.nodes, l.running)
	return l, nil
}

// nodesNow reads the nodes, sorted by name. They are shared.
func (ns *nodes) nodesNow(ctx context.Context, a *wire.NodesResponse) ([]federation.Node, error) {
	return ns.list.get(ctx, ns.site, asked[wire.Node, federation.Node]{into: a, found: func() []wire.Node { return a.Nodes }, finish: byName,
		read: func(n *wire.Node) (federation.Node, error) { return node(n), nil }})
}

func byName(nodes []federation.Node) []federation.Node {
	return slices.SortedFunc(slices.Values(nodes), func(a, b federation.Node) int { return strings.Compare(a.Name, b.Name) })
}

func node(n *wire.Node) federation.Node {
	cpus := n.EffectiveCPUs
	if cpus == 0 {
		cpus = n.CPUs
	}
	return federation.Node{
		Name: n.Name, State: n.State, Reason: n.Reason,
		CPUs: int(cpus), CPUsUsed: int(n.AllocCPUs),
		Mem: sbatch.MemMiB(n.RealMemory - n.SpecializedMemory), MemUsed: sbatch.MemMiB(n.AllocMemory), TmpDisk: sbatch.MemMiB(n.TemporaryDisk),
		GRES: nodeGRES(n.GRES, n.GRESUsed), Features: n.ActiveFeatures, Partitions: n.Partitions,
		Sockets: int(n.Sockets), Cores: int(n.Cores), Threads: int(n.Threads), Info: nodeInfo(n),
	}
}

func (d *Driver) reservation(r *wire.Reservation) (federation.Reservation, error) {
	nodes, err := hostlist.Expand(r.NodeList)
	if err != nil {
		err = fmt.Errorf("site %s: %w: reservation %s: %v", d.cfg.Name, federation.ErrUnavailable, r.Name, err)
	}
	return federation.Reservation{
		Name: r.Name, Start: unix(r.StartTime.Value()), End: unix(r.EndTime.Value()), Nodes: nodes,
		Users: commas(r.Users), Accounts: commas(r.Accounts), Maint: r.Flags.Has("MAINT"), For: driver.PromisedTo(d.cfg.Federation, r.Name),
	}, err
}

func (d *Driver) partition(p *wire.Partition) (federation.Partition, error) {
	nodes, err := hostlist.Expand(p.Nodes.Configured)
	if err != nil {
		return federation.Partition{}, fmt.Errorf("site %s: %w: partition %s: %v", d.cfg.Name, federation.ErrUnavailable, p.Name, err)
	}
	state := strings.Join(p.Partition.State, "+")
	return federation.Partition{
		Name: p.Name, Default: p.Flags.Has("DEFAULT"), Up: state == "UP", State: state,
		MaxTime: minutes(p.Maximums.Time), DefaultTime: minutes(p.Defaults.Time),
		MinNodes: int(p.Minimums.Nodes), MaxNodes: int(p.Maximums.Nodes.Value()), Nodes: nodes,
		AllowAccounts: commas(p.Accounts.Allowed), DenyAccounts: commas(p.Accounts.Deny), AllowQOS: commas(p.QOS.Allowed), QOS: p.QOS.Assigned,
		DefMemPerCPU:  sbatch.MemMiB(p.Defaults.PartitionMemoryPerCPU.Value()),
		DefMemPerNode: sbatch.MemMiB(p.Defaults.PartitionMemoryPerNode.Value()),
		PriorityTier:  int(p.Priority.Tier),
		RootOnly:      p.Flags.Has("ROOT_ONLY"),
		Topology:      p.Topology,
		Info:          partitionInfo(p),
	}, nil
}

// chooseDefault marks the default partition. API versions before v0.0.43 do not tell it; then it is the configured one, the one that a
// job without a wish was seen in, or, with a warning, the first.
func (d *Driver) chooseDefault(o *federation.Observation) {
	name := d.holders.defaultPartition()
	if d.cfg.DefaultPartition != "" {
		name = d.cfg.DefaultPartition
	} else if slices.ContainsFunc(o.Partitions, func(p federation.Partition) bool { return p.Default }) {
		return
	}
	found := false
	for i := range o.Partitions {
		o.Partitions[i].Default = o.Partitions[i].Name == name
		found = found || o.Partitions[i].Default
	}
	if found {
		return
	}
	o.Partitions[0].Default = true
	if d.cfg.DefaultPartition != "" {
		o.Warnings = append(o.Warnings, fmt.Sprintf("default_partition %q does not exist at the site; using %s", name, o.Partitions[0].Name))
	} else if len(o.Partitions) > 1 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("Slurm %s does not tell which partition is the default: %s is taken for it; set default_partition in the site's configuration", o.Version, o.Partitions[0].Name))
	}
}

// maxJob returns the highest number of the site's own counter in sight.
func (d *Driver) maxJob(rows []row) uint32 {
	var highest int64
	for _, r := range rows {
		if r.id < int64(d.cfg.FirstID) {
			highest = max(highest, r.id)
		}
	}
	return uint32(highest)
}

// warnings are what the operator should know.
func (d *Driver) warnings(o *federation.Observation) []string {
	out := d.remarks.list()
	if clear := ClearText(d.cfg.URL); clear != "" {
		out = append(out, clear)
	}
	if first := uint32(d.cfg.FirstID); o.MaxJobSeen > first-first/10 {
		out = append(out, fmt.Sprintf("the site's own job IDs have reached %d, close to the federated range from %d: set MaxJobId=%d in its slurm.conf", o.MaxJobSeen, first, first-1))
	}
	return out
}

// commas splits a list; "" and "ALL" say nothing.
func commas(list string) []string {
	if list == "" || strings.EqualFold(list, "ALL") {
		return nil
	}
	return strings.Split(list, ",")
}

// remark keeps the warnings of an answer.
func (at *site) remark(r *wire.Reply) {
	for _, w := range r.Warnings {
		at.remarks.add(w.Description)
	}
}

// remarks are distinct sentences, few of them: what a site says again and again is one remark.
type remarks struct {
	mu    sync.Mutex
	texts []string
}

const maxRemarks = 20

func (r *remarks) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.texts) < maxRemarks && !slices.Contains(r.texts, text) {
		r.texts = append(r.texts, text)
	}
}

func (r *remarks) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts)
}
