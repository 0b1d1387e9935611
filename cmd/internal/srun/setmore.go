package srun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/sbatch"
)

// mib reads an amount of memory.
func mib(v string) (int64, bool) {
	v = strings.ToUpper(strings.TrimSuffix(strings.ToUpper(v), "B"))
	unit := int64(1)
	if v != "" {
		switch v[len(v)-1] {
		case 'K':
			unit = -1024
		case 'M':
		case 'G':
			unit = 1 << 10
		case 'T':
			unit = 1 << 20
		default:
			v += "M"
		}
		v = v[:len(v)-1]
	}
	n, err := strconv.ParseInt(v, 10, 40)
	if err != nil || n < 0 {
		return 0, false
	}
	if unit < 0 {
		return (n + 1023) / 1024, true
	}
	return n * unit, true
}

func setMem(c *call, v string) error {
	n, ok := mib(v)
	if !ok {
		return &exit{255, "", "srun: error: Invalid --mem specification\n"}
	}
	if n == 0 {
		n = -1
	}
	c.ask.MemPerNode, c.ask.MemPerCPU = n, 0
	return nil
}

func setMemPerCPU(c *call, v string) error {
	n, ok := mib(v)
	if !ok {
		return &exit{255, "", "srun: error: Invalid --mem-per-cpu specification\n"}
	}
	c.ask.MemPerCPU, c.ask.MemPerNode = n, 0
	return nil
}

// setTime takes whole minutes, rounded up.
func setTime(c *call, v string) error {
	d, ok := sbatch.TimeLimit(v)
	if !ok {
		return &exit{1, "", "srun: error: Invalid --time specification\n"}
	}
	if c.timeout = d; d == sbatch.Unlimited {
		c.timeout = 0
	}
	return nil
}

func setWait(c *call, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return bad("Invalid numeric value %q for --wait.", v)
	}
	c.wait = time.Duration(n) * time.Second
	return nil
}

// setImmediate sets how many seconds a step may wait for others: one if no number is given, 0 is forever.
func setImmediate(c *call, v string) error {
	if v == "" {
		v = "1"
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return bad("Invalid numeric value %q for --immediate.", v)
	}
	c.immediate = time.Duration(n) * time.Second
	return nil
}

func setKill(c *call, v string) error {
	if v == "" {
		c.killBad = true
		return nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return bad("Invalid numeric value %q for --kill-on-bad-exit.", v)
	}
	c.killBad = n != 0
	return nil
}

func setOpenMode(c *call, v string) error {
	switch v {
	case "a", "A", "append":
		c.append = true
	case "t", "T", "truncate":
		c.append = false
	default:
		return &exit{255, "", "srun: error: Invalid --open-mode specification\n"}
	}
	return nil
}

func setLabel(c *call, _ string) error {
	c.label = true
	c.say("SLURM_LABELIO", "1")
	return nil
}

func setOvercommit(c *call, _ string) error {
	c.ask.Overcommit = true
	c.say("SLURM_OVERCOMMIT", "1")
	return nil
}

func setName(c *call, v string) error {
	c.name = v
	c.say("SLURM_JOB_NAME", v)
	return nil
}

func setOOM(c *call, v string) error {
	if v == "" {
		v = "1"
	}
	c.say("SLURM_OOM_KILL_STEP", v)
	return nil
}

// setGroups reads 0,1 or 0-2.
func setGroups(c *call, v string) error {
	for item := range strings.SplitSeq(v, ",") {
		first, last, ranged := strings.Cut(item, "-")
		a, err := strconv.Atoi(first)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a || b > 128 {
			return bad("Invalid --het-group value: %s", v)
		}
		for ; a <= b; a++ {
			c.groups = append(c.groups, a)
		}
	}
	return nil
}

// pmixVersions are those of clients that the server of the step's nodes knows; to it they are one.
var pmixVersions = []string{"pmix_v3", "pmix_v4", "pmix_v5"}

// setMPI: launchers that bring their own way of finding each other need none.
func setMPI(c *call, v string) error {
	switch {
	case v == "list":
		return &exit{0, "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: " + strings.Join(pmixVersions, ",") + "\n", ""}
	case v == "none" || v == "openmpi": // types that do nothing are not reported
		c.mpi = v
		return nil
	case v == "pmi2", v == "pmix", strings.HasPrefix(v, "pmix_v") && slices.Contains(pmixVersions, v):
		c.mpi, _, _ = strings.Cut(v, "_")
		c.say("SLURM_MPI_TYPE", v)
		return nil
	}
	return &exit{1, "", fmt.Sprintf("srun: error: Couldn't find the specified plugin name for mpi/%s looking at all files\nsrun: error: cannot find mpi plugin for mpi/%s\n"+
		"srun: error: MPI: Cannot create context for mpi/%s\nsrun: error: MPI: Unable to load any plugin\nsrun: error: Invalid MPI type '%s', --mpi=list for acceptable types\n", v, v, v, v)}
}
