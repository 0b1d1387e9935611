package srun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// setDistribution reads NODES[:SOCKETS[:CORES]][,pack|nopack]; only the first level matters to
// which task runs where.
func setDistribution(c *call, v string) error {
	lower := strings.ToLower(v)
	levels, packed, _ := strings.Cut(lower, ",")
	first, rest, _ := strings.Cut(levels, ":")
	word, size, sized := strings.Cut(first, "=")
	switch word {
	case "block", "cyclic", "arbitrary", "*", "pack", "nopack":
	case "plane":
		n, err := strconv.Atoi(size)
		if sized && (err != nil || n < 1) {
			return badDistribution(v)
		}
		if !sized {
			n, _ = strconv.Atoi(c.env("SLURM_DIST_PLANESIZE"))
		}
		if n < 1 {
			return badDistribution(v)
		}
		if packed != "" { // 24.11 reads no number then
			return &exit{255, "", "srun: error: Invalid plane size or size not specified\n" + badDistribution(v).Error()}
		}
		c.ask.Plane = n
		c.say("SLURM_DIST_PLANESIZE", strconv.Itoa(n))
	default:
		return badDistribution(v)
	}
	c.shownDistribution, c.ask.Distribution = lower, word
	switch word {
	case "plane":
		c.shownDistribution = "plane"
	case "*":
		c.ask.Distribution, c.shownDistribution = "block", "block"
		if rest != "" {
			c.shownDistribution = "block:" + rest
		}
	case "pack":
		c.ask.Distribution, c.shownDistribution = "block", "block,pack"
	case "nopack":
		c.ask.Distribution, c.shownDistribution = "", ",nopack"
	}
	return nil
}

func badDistribution(v string) error {
	return &exit{255, "", "srun: error: Invalid --distribution specification\n"}
}

func setThreadsPerCore(c *call, v string) error {
	c.sayBind(false, "threads", "")
	c.say("SLURM_THREADS_PER_CORE", v)
	return nil
}

func setTasksPerCore(c *call, v string) error {
	c.sayBind(false, "cores", "")
	c.say("SLURM_NTASKS_PER_CORE", v)
	return nil
}

// setExternal is for the daemons of mpirun and mpiexec: they divide the CPUs among their own children.
func setExternal(c *call, _ string) error {
	c.ask.Overlap, c.ask.Overcommit, c.cpuBind = true, true, "none"
	c.sayBind(false, "none", "")
	c.say("SLURM_MEM_BIND", "quiet,none")
	c.say("SLURM_MEM_BIND_LIST", "")
	c.say("SLURM_MEM_BIND_TYPE", "none")
	c.say("SLURM_MEM_BIND_VERBOSE", "quiet")
	return nil
}

func setHint(c *call, v string) error {
	switch v {
	case "compute_bound", "memory_bound", "multithread":
		return nil
	case "nomultithread":
		return setThreadsPerCore(c, "1")
	}
	return &exit{255, "", fmt.Sprintf("srun: error: unrecognized --hint argument \"%s\", see --hint=help\n", v)}
}

func setCPUBind(c *call, v string) error {
	kind := v
	for {
		word, rest, more := strings.Cut(kind, ",")
		switch word {
		case "v", "verbose":
			c.bindVerbose = true
		case "q", "quiet":
			c.bindVerbose = false
		default:
			more = false
		}
		if !more {
			break
		}
		kind = rest
	}
	word, list, _ := strings.Cut(strings.ToLower(kind), ":")
	switch word {
	case "v", "verbose", "q", "quiet", "none", "no", "rank", "cores", "core", "threads", "thread", "sockets", "socket", "ldoms", "ldom", "rank_ldom", "boards":
	case "map_cpu", "mask_cpu":
		if list == "" {
			return bad("missing list for \"--cpu-bind=%s:<list>\"", word)
		}
	case "map_ldom", "mask_ldom":
		return bad("--cpu-bind=%s is not carried out on rented nodes: use map_cpu or mask_cpu", word)
	case "help":
		return &exit{0, cpuBindHelp, ""}
	default:
		return bad("unrecognized --cpu-bind argument \"%s\"", v)
	}
	c.cpuBind = v
	if !slices.Contains([]string{"v", "verbose", "q", "quiet"}, word) {
		c.sayBind(c.bindVerbose, word, list)
	}
	return nil
}
