package simsite

import (
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
)

// node is one compute node with what its jobs hold.
type node struct {
	index     int
	name      string
	leaf      int // index of its leaf switch, -1: none
	cpus      int
	mem       sbatch.MemMiB
	gres      []federation.GRES // Total as configured, Used
	features  []string
	parts     []string
	usedCPUs  int
	usedMem   sbatch.MemMiB
	jobs      int // running on it
	exclusive int // of them, those that share with nobody

	down   bool
	drain  bool
	reason string
}

func (n *node) usable() bool { return !n.down && !n.drain }

// state is the node's state in slurmrestd's words: base state first.
func (n *node) state() []string {
	base := "IDLE"
	switch {
	case n.down:
		base = "DOWN"
	case n.exclusive > 0 || n.jobs > 0 && n.usedCPUs >= n.cpus:
		base = "ALLOCATED"
	case n.jobs > 0:
		base = "MIXED"
	}
	if n.drain {
		return []string{base, "DRAIN"}
	}
	return []string{base}
}

// share is what a job holds on one node.
type share struct {
	n     *node
	cpus  int
	tasks int
	mem   sbatch.MemMiB
	gres  []int // by index of n.gres
}

func (n *node) take(sh *share, exclusive bool) {
	n.usedCPUs += sh.cpus
	n.usedMem += sh.mem
	for i, k := range sh.gres {
		n.gres[i].Used += k
	}
	n.jobs++
	if exclusive {
		n.exclusive++
	}
}

func (n *node) give(sh *share, exclusive bool) {
	n.usedCPUs -= sh.cpus
	n.usedMem -= sh.mem
	for i, k := range sh.gres {
		n.gres[i].Used -= k
	}
	n.jobs--
	if exclusive {
		n.exclusive--
	}
}

// partition is a partition with its nodes.
type partition struct {
	PartitionConfig
	nodes []*node
}

func (p *partition) up() bool { return p.State == "UP" }

// leaf is a leaf switch.
type leaf struct {
	name  string
	nodes []*node
}

// buildNodes makes the nodes, leaf switches and partitions of the configuration.
func (s *Site) buildNodes(cfg *Config) error {
	byName := map[string]*node{}
	for _, nc := range cfg.Nodes {
		names, err := expandHosts(nc.Names)
		if err != nil {
			return err
		}
		for _, name := range names {
			if byName[name] != nil {
				return fmt.Errorf("simsite %q: node %s is there twice", cfg.Name, name)
			}
			n := &node{name: name, leaf: -1, cpus: nc.CPUs, mem: nc.Mem, gres: slices.Clone(nc.GRES), features: nc.Features}
			for i := range n.gres {
				n.gres[i].Used = 0
			}
			byName[name] = n
			s.nodes = append(s.nodes, n)
		}
	}
	slices.SortFunc(s.nodes, func(a, b *node) int { return compareHosts(a.name, b.name) })
	for i, n := range s.nodes {
		n.index = i
	}
	s.nodeByName = byName
	if err := s.buildLeaves(cfg); err != nil {
		return err
	}
	for _, pc := range cfg.Partitions {
		if err := s.buildPartition(pc); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) buildLeaves(cfg *Config) error {
	for _, sw := range cfg.Switches {
		if sw.Nodes == "" {
			continue
		}
		nodes, err := s.nodesOf(sw.Nodes)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			n.leaf = len(s.leaves)
		}
		s.leaves = append(s.leaves, &leaf{name: sw.Name, nodes: nodes})
	}
	return nil
}

func (s *Site) buildPartition(pc PartitionConfig) error {
	def(&pc.State, "UP")
	def(&pc.PriorityTier, 1)
	p := &partition{PartitionConfig: pc, nodes: s.nodes}
	if pc.Nodes != "" && !strings.EqualFold(pc.Nodes, "ALL") {
		nodes, err := s.nodesOf(pc.Nodes)
		if err != nil {
			return err
		}
		slices.SortFunc(nodes, func(a, b *node) int { return a.index - b.index })
		p.nodes = nodes
	}
	for _, n := range p.nodes {
		n.parts = append(n.parts, pc.Name)
	}
	s.parts = append(s.parts, p)
	return nil
}

// nodesOf resolves a hostlist; an unknown name is an error.
func (s *Site) nodesOf(list string) ([]*node, error) {
	names, err := expandHosts(list)
	if err != nil {
		return nil, err
	}
	out := make([]*node, 0, len(names))
	for _, name := range names {
		n := s.nodeByName[name]
		if n == nil {
			return nil, errNodeName
		}
		out = append(out, n)
	}
	return out, nil
}

func (s *Site) partition(name string) *partition {
	for _, p := range s.parts {
		if p.Name == name || name == "" && p.Default {
			return p
		}
	}
	return nil
}
