package srun

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fsub/slurm/hostlist"
)

// exit ends srun: with text for stdout, or lines for stderr that have their prefix.
type exit struct {
	code           int
	stdout, stderr string
}

func (e *exit) Error() string { return e.stderr }

// bad refuses an option's value, with exit code 1.
func bad(format string, args ...any) error {
	return &exit{1, "", "srun: error: " + fmt.Sprintf(format, args...) + "\n"}
}

// numberOf takes a number of at least 1.
func numberOf(name string, to func(c *call) *int) func(*call, string) error {
	return func(c *call, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return bad("Invalid numeric value %q for %s.", v, name)
		}
		*to(c) = n
		return nil
	}
}

var (
	numberTasks   = numberOf("--ntasks", func(c *call) *int { return &c.ask.Tasks })
	numberCPUs    = numberOf("--cpus-per-task", func(c *call) *int { return &c.ask.CPUsPerTask })
	numberPerNode = numberOf("--ntasks-per-node", func(c *call) *int { return &c.ask.TasksPerNode })
)

func setTasks(c *call, v string) error {
	c.tasksGiven = !c.inEnv
	return numberTasks(c, v)
}

func setCPUsPerTask(c *call, v string) error {
	before := c.ask.CPUsPerTask
	if err := numberCPUs(c, v); err != nil {
		return err
	}
	if !c.inEnv {
		c.cpusGiven = true
		c.say("SLURM_CPUS_PER_TASK", strconv.Itoa(c.ask.CPUsPerTask))
		c.tresPerTask = append(c.tresPerTask, "cpu="+strconv.Itoa(c.ask.CPUsPerTask))
	}
	if !c.inEnv && before > 0 && c.ask.CPUsPerTask > before {
		c.inform(fmt.Sprintf("Job step's --cpus-per-task value exceeds that of job (%d > %d). Job step may never run.", c.ask.CPUsPerTask, before))
	}
	return nil
}

func setTasksPerNode(c *call, v string) error {
	c.perNodeGiven = !c.inEnv
	return numberPerNode(c, v)
}

// setNodes reads N, N-M; 0 is as if it were not there.
func setNodes(c *call, v string) error {
	least, most, ranged := strings.Cut(v, "-")
	a, err := strconv.Atoi(least)
	b := a
	if err == nil && ranged {
		b, err = strconv.Atoi(most)
	}
	if err != nil || a < 0 || b < a {
		return &exit{255, "", fmt.Sprintf("srun: error: %q is not a valid node count\n", v)}
	}
	if a == 0 {
		return nil
	}
	c.nodesGiven = !c.inEnv
	c.ask.MinNodes, c.ask.MaxNodes = a, b
	return nil
}

func setNodeList(c *call, v string) error {
	if strings.Contains(v, "/") { // a file with names
		text, err := os.ReadFile(v)
		if err != nil {
			return bad("Unable to open nodelist file %s: %s", v, reason(err))
		}
		v = strings.Join(strings.Fields(string(text)), ",")
	}
	names, err := hostlist.Expand(v)
	if err != nil {
		return bad("Invalid node name specification: %s", v)
	}
	c.ask.Nodes = names
	return nil
}

func setExclude(c *call, v string) (err error) {
	if c.ask.Exclude, err = hostlist.Expand(v); err != nil {
		return bad("Invalid node name specification: %s", v)
	}
	return nil
}

func setRelative(c *call, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return bad("Invalid numeric value %q for --relative.", v)
	}
	c.ask.Relative, c.relativeGiven = n, true
	return nil
}

func reason(err error) string {
	if e, ok := err.(*os.PathError); ok {
		err = e.Err
	}
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

func base(path string) string { return filepath.Base(path) }
