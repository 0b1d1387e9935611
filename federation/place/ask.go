package place

import (
	"strconv"
	"strings"
	"time"

	"fsub/sbatch"
	"fsub/topology"
)

// ask is what a job asks for, read once from its Spec. What a pool makes of it is a [fit].
type ask struct {
	spec *sbatch.Spec

	minNodes, maxNodes int // 0: not said
	tasks              int // 0: not said
	tasksPerNode       int // 0: not said
	cpusPerTask        int

	nodeGRES []gresAsk // of each node
	jobGPUs  []gresAsk // of the whole job
	taskGPUs []gresAsk // of each task

	constraint *constraint
	partitions []string // empty: the site's default
	include    []string // nodes it wants to have
	exclude    []string
	switches   int // 0: any number of leaves

	units int // tasks of an array, else 1; each asks for all of the above
	width int // how many of them may run at once
}

// newAsk reads a Spec. What it cannot read it leaves out: then the site judges it. dropSwitches: the job has waited long
// enough for its --switches.
func newAsk(spec *sbatch.Spec, dropSwitches bool) *ask {
	a := &ask{
		spec:     spec,
		minNodes: spec.MinNodes, maxNodes: spec.MaxNodes,
		tasks: spec.NTasks, tasksPerNode: spec.NTasksPerNode,
		cpusPerTask: max(spec.CPUsPerTask, 1),
		switches:    spec.Switches,
	}
	if dropSwitches {
		a.switches = 0
	}
	if a.maxNodes == 0 {
		a.maxNodes = a.minNodes // "-N 2" is both bounds
	}
	if a.tasks > 0 && a.tasks < a.minNodes {
		a.minNodes = a.tasks // as sbatch does, with a warning
	}
	a.readGRES()
	if spec.More != nil && spec.More.Overcommit && len(a.taskGPUs) == 0 {
		a.tasks, a.tasksPerNode, a.cpusPerTask = 0, 0, 1 // all tasks of a node share one CPU
	}
	a.constraint, _ = parseConstraint(spec.Constraint)
	for _, p := range strings.Split(spec.Partition, ",") {
		if p != "" {
			a.partitions = append(a.partitions, p)
		}
	}
	a.include, _ = topology.ExpandHosts(spec.NodeList)
	if a.maxNodes > 0 && len(a.include) > a.maxNodes {
		a.include = a.include[:a.maxNodes] // as sbatch does, with a warning
	}
	a.exclude, _ = topology.ExpandHosts(spec.Exclude)
	a.units, a.width = arraySize(spec.Array)
	return a
}

func (a *ask) readGRES() {
	gres, _ := parseGRES(a.spec.GRES)
	perNode, _ := parseGPUs(a.spec.GPUsPerNode)
	a.nodeGRES = putGRES(putGRES(nil, gres...), perNode...)
	a.jobGPUs, _ = parseGPUs(a.spec.GPUs)
	a.taskGPUs, _ = parseGPUs(a.spec.GPUsPerTask)
	if each := countGRES(a.taskGPUs); each > 0 && len(a.jobGPUs) > 0 {
		// Of the whole and each part the third follows: the number of tasks.
		if a.tasks == 0 {
			a.tasks = max(countGRES(a.jobGPUs)/each, 1)
		}
		a.jobGPUs = nil
	}
}

// gpusOnNode is how many GPUs the job asks for on each node, 0 if it does not say so.
func (a *ask) gpusOnNode() int {
	n := 0
	for _, g := range a.nodeGRES {
		if g.Name == "gpu" {
			n += g.Count
		}
	}
	return n
}

func countGRES(asks []gresAsk) int {
	n := 0
	for _, a := range asks {
		n += a.Count
	}
	return n
}

// limit is how long the job may run in a partition: what it asks for, else the partition's default, else its maximum.
func (a *ask) limit(partDefault, partMax time.Duration) time.Duration {
	for _, d := range []time.Duration{a.spec.TimeLimit, partDefault, partMax} {
		if d != 0 {
			return d
		}
	}
	return sbatch.Unlimited
}

// whole reports whether the job wants nodes that run nothing else. Sharing with oneself only (--exclusive=user) is left to
// the site.
func (a *ask) whole() bool {
	return a.spec.Exclusive == "exclusive" || a.spec.Exclusive == "topo"
}

// arraySize returns how many tasks an --array has, and how many may run at once: "0-10:2%3" has 6 and 3. No array is one
// task, and so is what cannot be read.
func arraySize(s string) (tasks, width int) {
	list, throttle, _ := strings.Cut(s, "%")
	list = strings.Trim(list, "[]")
	for _, r := range strings.Split(list, ",") {
		tasks += min(rangeSize(r), maxTasks)
	}
	tasks = min(max(tasks, 1), maxTasks)
	width = tasks
	if n, err := strconv.Atoi(strings.TrimSuffix(throttle, "]")); err == nil && n > 0 {
		width = min(n, tasks)
	}
	return tasks, width
}

// maxTasks is more than any site allows: Slurm's MaxArraySize is 4,000,001 at most.
const maxTasks = 1 << 23

func rangeSize(r string) int {
	r, stepText, stepped := strings.Cut(r, ":")
	from, to, isRange := strings.Cut(r, "-")
	step := 1
	if n, err := strconv.Atoi(stepText); stepped && err == nil && n > 0 {
		step = n
	}
	lo, err := strconv.Atoi(from)
	if err != nil {
		return 0
	}
	if !isRange {
		return 1
	}
	hi, err := strconv.Atoi(to)
	if err != nil || hi < lo {
		return 0
	}
	return (hi-lo)/step + 1
}
