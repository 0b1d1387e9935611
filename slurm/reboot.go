package slurm

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/hostlist"
)

// RebootNodes implements [driver.Rebooter] by the configured command: no version of slurmrestd has a call for it.
func (ns *nodes) RebootNodes(ctx context.Context, o driver.RebootOrder) error {
	list, verb := hostlist.Compress(o.Nodes), "reboot"
	if o.Cancel {
		verb = "cancel_reboot"
	}
	if len(ns.cfg.NodeCommand) == 0 {
		return fmt.Errorf("%s %s at %s: %w: slurmrestd has no call for it: set node_command in the site's configuration, or run there: scontrol %s %s",
			verb, list, ns.cfg.Name, federation.ErrInvalid, verb, list)
	}
	words := []string{verb}
	if o.ASAP {
		words = append(words, "ASAP")
	}
	if o.NextState != "" {
		words = append(words, "nextstate="+o.NextState)
	}
	if o.Reason != "" {
		words = append(words, "reason="+o.Reason)
	}
	if err := ns.nodeCommand(ctx, append(words, list)...); err != nil {
		return fmt.Errorf("%s %s at %s: %w", verb, list, ns.cfg.Name, err)
	}
	return nil
}
