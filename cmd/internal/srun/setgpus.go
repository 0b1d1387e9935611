package srun

import (
	"strconv"
	"strings"
)

// setTRESPerTask reads "cpu=2,gres/gpu=1" in its several spellings.
func setTRESPerTask(c *call, v string) error {
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimPrefix(item, "gres/")
		name, count, _ := strings.Cut(strings.Replace(item, ":", "=", 1), "=")
		switch name {
		case "cpu":
			if err := setCPUsPerTask(c, count); err != nil {
				return err
			}
		case "gpu":
			if err := setGPUsPerTask(c, strings.ReplaceAll(count, "=", ":")); err != nil {
				return err
			}
		}
	}
	return nil
}

// gpuCount reads N, TYPE:N or TYPE, or several of these.
func gpuCount(name, v string) (int, error) {
	if first, rest, more := strings.Cut(v, ","); more { // of several types
		a, err := gpuCount(name, first)
		if err != nil {
			return 0, err
		}
		b, err := gpuCount(name, rest)
		return a + b, err
	}
	last := v[strings.LastIndexAny(v, ":=")+1:]
	n, err := strconv.Atoi(last)
	switch {
	case err == nil && n >= 0:
		return n, nil
	case last == v && v != "" || strings.Contains(v, ":"):
		return 1, nil
	}
	return 0, bad("Invalid %s specification: %s", name, v)
}

// The options that gpuTypes tells apart.
const (
	gpusAll = iota
	gpusNode
	gpusTask
	gpusGRES
)

func (c *call) gpus(name, v string, which int, to *int) error {
	n, err := gpuCount(name, v)
	if c.gpuTypes[which] = 'n'; strings.Contains(v, ":") {
		c.gpuTypes[which] = 't'
	}
	if !c.inEnv {
		c.gpusGiven = c.gpusGiven || which == gpusNode || which == gpusGRES
		c.gpusTaskGiven = c.gpusTaskGiven || which == gpusTask
	}
	c.ask.NoGPUs = err == nil && n == 0
	*to = n
	return err
}

func setGPUs(c *call, v string) error {
	c.say("SLURM_GPUS", v)
	return c.gpus("--gpus", v, gpusAll, &c.ask.GPUs)
}

func setGPUsPerNode(c *call, v string) error {
	c.say("SLURM_GPUS_PER_NODE", v)
	return c.gpus("--gpus-per-node", v, gpusNode, &c.ask.GPUsPerNode)
}

func setGPUsPerTask(c *call, v string) error {
	if err := c.gpus("--gpus-per-task", v, gpusTask, &c.ask.GPUsPerTask); err != nil {
		return err
	}
	n := strconv.Itoa(c.ask.GPUsPerTask)
	c.say("SLURM_TRES_BIND", "gres/gpu:per_task:"+n)
	if !c.inEnv {
		c.tresPerTask = append(c.tresPerTask, "gres/gpu="+n)
	}
	return nil
}

func setTasksPerGPU(c *call, v string) error {
	if err := numberOf("--ntasks-per-gpu", func(c *call) *int { return &c.tasksPerGPU })(c, v); err != nil {
		return err
	}
	c.gpuBind, c.tasksGPUGiven, c.ask.ByGPU = "single:"+v, !c.inEnv, true
	c.say("SLURM_NTASKS_PER_TRES", v)
	c.say("SLURM_TRES_BIND", "gres/gpu:single:"+v)
	return nil
}

func setCPUsPerGPU(c *call, v string) error {
	c.say("SLURM_CPUS_PER_GPU", v)
	c.cpusGPUGiven = !c.inEnv
	return numberOf("--cpus-per-gpu", func(c *call) *int { return &c.ask.CPUsPerGPU })(c, v)
}

func setGPUBind(c *call, v string) error {
	c.gpuBind = v
	c.say("SLURM_TRES_BIND", "gres/gpu:"+v)
	return nil
}

// setGRES reads the GPUs of --gres; other resources are not counted on rented nodes.
func setGRES(c *call, v string) error {
	if strings.EqualFold(v, "none") {
		c.ask.NoGPUs = true
		return nil
	}
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimPrefix(item, "gres/")
		if item == "gpu" {
			item = "gpu:1"
		}
		if rest, ok := strings.CutPrefix(strings.Replace(item, "=", ":", 1), "gpu:"); ok {
			if rest == "0" && c.ask.GPUs+c.ask.GPUsPerNode+c.ask.GPUsPerTask > 0 { // what else asks for them counts
				continue
			}
			if err := c.gpus("--gres", rest, gpusGRES, &c.ask.GPUsPerNode); err != nil {
				return err
			}
		}
	}
	return nil
}

// setTRESBind reads "gres/gpu:per_task:1".
func setTRESBind(c *call, v string) error {
	for item := range strings.SplitSeq(v, "+") {
		if rest, ok := strings.CutPrefix(item, "gres/gpu:"); ok {
			c.gpuBind = rest
		}
	}
	c.say("SLURM_TRES_BIND", v)
	return nil
}
