package demand

import "fsub/sbatch"

// memory is what a job asks for of it: one of the amounts, or all of each node, or nothing.
type memory struct {
	perNode, perCPU, perGPU sbatch.MemMiB
	all                     bool
	byDefault               bool // perCPU or perNode is the site's default
}

func (d *Demand) memory(o Options) (m memory) {
	switch a := d.Memory.Amount; {
	case a == sbatch.MemAll:
		m.all = true
	case a == 0:
		m.perNode, m.perCPU = o.DefMemPerNode, o.DefMemPerCPU
		m.byDefault = m.perNode+m.perCPU > 0
	case d.Memory.Per == PerNode:
		m.perNode = a
	case d.Memory.Per == PerCPU:
		m.perCPU = a
	case d.Memory.Per == PerGPU:
		m.perGPU = a
	}
	return m
}

// node is the memory that a node must have whatever the job gets of it.
func (m *memory) node() sbatch.MemMiB {
	if m.byDefault {
		return 0
	}
	return m.perNode
}

// of is the memory of a share of a node, 0 if nothing bounds it.
func (m *memory) of(s *Share) sbatch.MemMiB {
	switch {
	case m.perNode > 0:
		return m.perNode
	case m.perGPU > 0:
		return m.perGPU * sbatch.MemMiB(s.GPUs)
	}
	return m.perCPU * sbatch.MemMiB(s.CPUs)
}
