package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"fsub/cloud/agentapi"
	"fsub/cloud/local"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/sbatch"
)

// openLocal makes the pool of this machine. Its machines have their directories beside the daemon's
// state, not in it: the users of jobs must get to their scripts there, and to nothing of the daemon's.
func openLocal(_ context.Context, c *config.Config, s *config.Site, _ *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	binary, err := findAgent(c)
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	dir, err := filepath.Abs(filepath.Join(c.StateDir+"-machines", string(s.Name)))
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	k := local.Config{Dir: dir, Agent: binary, Settle: settleCommand(dir), Logger: log}
	if err := os.MkdirAll(filepath.Dir(k.Dir), 0o711); err != nil {
		return nil, agentapi.Boot{}, err
	}
	if l := s.Local; l != nil {
		k.Network = local.Network(l.Network)
		if k.Subnets, err = l.Subnets(); err != nil {
			return nil, agentapi.Boot{}, err
		}
		shape := shapeOf(l, local.ThisMachine())
		k.Shapes = []local.Shape{shape}
	}
	p, err := local.New(k)
	if err != nil {
		return nil, agentapi.Boot{}, err
	}
	return p, p.Boot(), nil
}

// shapeOf is what each of the nodes is said to have: what is not said is an even share of this machine.
func shapeOf(l *config.Local, whole local.Shape) local.Shape {
	nodes := max(l.Nodes, 1)
	out := whole
	out.CPUs, out.Mem = max(whole.CPUs/nodes, 1), max(whole.Mem/sbatch.MemMiB(nodes), 1)
	out.GPUs = whole.GPUs / nodes
	if l.CPUs > 0 {
		out.CPUs = l.CPUs
	}
	if l.Mem > 0 {
		out.Mem = l.Mem
	}
	if l.GPUs > 0 {
		out.GPUs, out.GPUType = l.GPUs, l.GPUType
	}
	out.Price, out.Max = federation.Dollars(l.Price), nodes
	if l.Spot {
		out.Market = provider.Spot
	}
	return out
}
