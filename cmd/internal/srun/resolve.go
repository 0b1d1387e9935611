package srun

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"fsub/slurm/hostlist"
)

// resolve settles how many nodes and tasks are asked for, in srun's way (24.11).
func (c *call) resolve() error {
	a := &c.ask
	if err := c.contradictions(); err != nil {
		return err
	}
	if c.gpusGiven && !c.gpusTaskGiven { // the job's own task options do not count then
		a.GPUsPerTask = 0
	}
	if c.cpusGPUGiven && !c.cpusGiven { // nor does this
		a.CPUsPerTask = 0
	}
	if a.CPUsPerTask > 0 && !a.Overcommit {
		a.Exact = true
	}
	if c.tasksPerGPU > 0 && a.Tasks == 0 {
		a.Tasks = c.tasksPerGPU * c.jobGPUs()
	}
	listed := a.Distribution == "arbitrary"
	if err := c.hostFile(); err != nil {
		return err
	}
	both := c.exclusive && a.Overlap
	if both {
		c.inform("error: --exclusive and --overlap are mutually exclusive")
	}
	arbitrary := a.Distribution == "arbitrary" && len(a.Nodes) > 0
	if arbitrary && !c.tasksGiven {
		a.Tasks = len(a.Nodes)
	}
	if a.Distribution == "arbitrary" && a.Tasks > len(a.Nodes) {
		return bad("You asked for %d tasks but hostlist specified %d nodes", a.Tasks, len(a.Nodes))
	}
	c.pack()
	if a.Tasks > 0 && a.Tasks < a.MinNodes && !listed {
		c.inform(fmt.Sprintf("warning: can't run %d processes on %d nodes, setting nnodes to %d", a.Tasks, a.MinNodes, a.Tasks))
		a.MinNodes, a.MaxNodes = a.Tasks, a.Tasks
	}
	c.tasksPerNode()
	switch {
	case both: // which srun says, and looks on
		return &exit{code: 1}
	case c.mixedTypes():
		return bad("Invalid GRES specification (with and without type identification)")
	}
	if arbitrary {
		a.MinNodes, a.MaxNodes = 0, 0
	}
	return c.checkRelative()
}

func (c *call) packed() bool { return strings.HasSuffix(c.shownDistribution, ",pack") }

// pack is the distribution that fills one node after the other: what the environment says of the
// number of nodes is the most of them.
func (c *call) pack() {
	a := &c.ask
	a.Pack = c.packed()
	if !a.Pack || c.nodesGiven {
		return
	}
	if a.Tasks == 0 && a.CPUsPerTask == 0 {
		a.Tasks = a.MinNodes
	}
	a.MinNodes = min(a.MinNodes, 1)
}

// tasksPerNode settles --ntasks-per-node: it says how many tasks there are, or does not fit how many there are.
func (c *call) tasksPerNode() {
	a := &c.ask
	nodes := max(a.MaxNodes, 1)
	if have, err := strconv.Atoi(c.env("SLURM_JOB_NUM_NODES")); err == nil {
		nodes = min(nodes, have)
	}
	if c.packed() && !c.nodesGiven {
		nodes = 1
	}
	if a.TasksPerNode > 0 && !c.tasksGiven && (a.Tasks == 0 || c.nodesGiven) {
		a.Tasks = a.TasksPerNode * nodes
	}
	if c.nodesGiven {
		nodes = max(a.MaxNodes, 1)
	}
	if a.TasksPerNode == 0 || a.Tasks <= a.TasksPerNode*nodes {
		return
	}
	why := fmt.Sprintf(" with the maximum number of requested nodes %d. Ignoring --ntasks-per-node.", nodes)
	if c.packed() {
		why = " and -mpack, which forces min number of nodes to 1"
	}
	c.inform(fmt.Sprintf("warning: can't honor --ntasks-per-node set to %d which doesn't match the requested tasks %d", a.TasksPerNode, a.Tasks) + why)
	a.TasksPerNode = 0
}

// contradictions are options that srun (24.11) does not take together.
func (c *call) contradictions() error {
	fatal := func(text string) error { return &exit{1, "", "srun: fatal: " + text + "\n"} }
	switch {
	case c.cpusGiven && c.cpusGPUGiven:
		return fatal("--cpus-per-task, --tres-per-task=cpu:#, and --cpus-per-gpu are mutually exclusive")
	case c.tasksGPUGiven && c.env("SLURM_TRES_PER_TASK") != "":
		return fatal("SLURM_TRES_PER_TASK is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case c.tasksGPUGiven && c.perNodeGiven:
		return fatal("--ntasks-per-node is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU")
	case c.tasksGPUGiven && c.ask.GPUs+c.ask.GPUsPerNode == 0 && c.ask.Tasks%c.tasksPerGPU != 0:
		return bad("Invalid generic resource (gres) specification")
	}
	return nil
}

// mixedTypes: GPUs of a type were asked for, and others without.
func (c *call) mixedTypes() bool {
	return bytes.ContainsRune(c.gpuTypes[:], 't') && bytes.ContainsRune(c.gpuTypes[:], 'n')
}

// hostFile reads the file that SLURM_HOSTFILE names: a node for each task. It counts more than any
// distribution, and less than --nodelist.
func (c *call) hostFile() error {
	a := &c.ask
	file := c.env("SLURM_HOSTFILE")
	if file == "" || len(a.Nodes) > 0 {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return bad("Unable to open nodelist file %s: %s", file, reason(err))
	}
	names, err := hostlist.Expand(strings.Join(strings.Fields(string(text)), ","))
	if err != nil {
		return bad("Invalid node name specification: %s", strings.TrimSpace(string(text)))
	}
	switch {
	case a.Distribution == "arbitrary" && !c.tasksGiven:
		a.Tasks = len(names)
	case a.Tasks == 0:
		a.Tasks = max(a.MinNodes, 1)
	}
	switch {
	case a.Tasks > len(names), c.nodesGiven && a.MaxNodes > len(names):
		return &exit{1, "", "srun: error: Too few NodeNames in Slurm Hostfile\nsrun: error: Failure getting NodeNames from hostfile\n"}
	case c.nodesGiven:
		return bad("--nodes is incompatible with --distribution=arbitrary")
	}
	_, flag, _ := strings.Cut(c.shownDistribution, ",")
	a.Nodes, a.Distribution, c.shownDistribution = names[:a.Tasks], "arbitrary", strings.TrimSuffix("arbitrary,"+flag, ",")
	return nil
}

// jobGPUs is how many the step has, for --ntasks-per-gpu.
func (c *call) jobGPUs() int {
	nodes := max(c.ask.MaxNodes, 1)
	if c.ask.GPUs > 0 || c.ask.GPUsPerNode > 0 {
		return max(c.ask.GPUs, c.ask.GPUsPerNode*nodes)
	}
	for _, v := range [...]struct {
		name string
		each int
	}{{"SLURM_GPUS", 1}, {"SLURM_GPUS_PER_NODE", nodes}, {"SLURM_GPUS_ON_NODE", nodes}} {
		if n, err := gpuCount(v.name, c.env(v.name)); err == nil && n > 0 {
			return n * v.each
		}
	}
	return 1
}

func (c *call) checkRelative() error {
	if c.relativeGiven && len(c.ask.Nodes)+len(c.ask.Exclude) > 0 {
		return bad("-r,--relative not allowed with -w,--nodelist or -x,--exclude.")
	}
	have, err := strconv.Atoi(c.env("SLURM_JOB_NUM_NODES"))
	if err != nil || c.ask.Relative == 0 || c.ask.Relative+c.ask.MinNodes <= have {
		return nil
	}
	option := "SLURM_JOB_NUM_NODES"
	if c.nodesGiven {
		option = "--nodes"
	}
	return bad("--relative and %s option incompatible with count of allocated nodes (%d+%d>%d)", option, c.ask.Relative, c.ask.MinNodes, have)
}
