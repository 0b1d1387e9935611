package bed

import "context"

// Restart restarts the controller and the nodes' daemons of a site, as Slurm asks for after a change of slurm.conf or topology.conf, and returns
// when every node answers again. With the controller alone restarted, nodes forward its messages by the switches that they know of, and now and
// then some of them do not answer for a while.
func (b *Bed) Restart(ctx context.Context, site string) error {
	s, err := b.site(site)
	if err != nil {
		return err
	}
	slurmds := make([]string, 0, s.Nodes)
	for _, node := range s.NodeNames() {
		slurmds = append(slurmds, "slurmd:"+node)
	}
	if err := each(append(slurmds, "slurmctld"), func(name string) error { return b.StopService(site, name) }); err != nil {
		return err
	}
	if err := b.StartService(ctx, site, "slurmctld"); err != nil {
		return err
	}
	if err := each(slurmds, func(name string) error { return b.StartService(ctx, site, name) }); err != nil {
		return err
	}
	return b.awaitNodes(ctx, s)
}
