package srun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/cloud/container"
	"fsub/cloud/layout"
	"fsub/sbatch/getopt"
)

// call is one component of a command line, with what the environment says.
type call struct {
	args  []string // all of them
	vars  []string // the environment
	inEnv bool     // an option is being read from there
	group int      // the job's component; -1: it has none

	ask           layout.Step
	tasksGiven    bool // on the command line
	nodesGiven    bool
	relativeGiven bool
	perNodeGiven  bool
	cpusGiven     bool
	cpusGPUGiven  bool
	gpusGiven     bool // --gpus-per-node or --gres
	gpusTaskGiven bool
	gpuTypes      [4]byte // by option: 0 it is not given, 't' with a type of GPU, 'n' without
	tasksGPUGiven bool
	exclusive     bool

	shownDistribution string // SLURM_DISTRIBUTION; one that begins with a comma follows the default

	argv                                 []string
	job, name, dir, export               string
	stdin                                string
	stdout, stderr                       *string
	append, label, unbuffered, multiProg bool
	cpuBind, gpuBind, mpi                string
	bindVerbose                          bool
	killBad, noKill, quit, noStatus      bool
	pty, quiet, testOnly                 bool
	verbose                              int
	wait, timeout, immediate             time.Duration
	groups                               []int

	box container.Options // what the command line says of one

	says        [][2]string // variables that options set
	tresPerTask []string    // "cpu=2"
	tasksPerGPU int

	notices []string // lines for stderr that fail nothing
}

func (c *call) inform(line string) { c.notices = append(c.notices, "srun: "+line) }

// say gives the tasks a variable for an option of the command line.
func (c *call) say(name, value string) {
	if !c.inEnv {
		c.says = append(c.says, [2]string{name, value})
	}
}

// sayBind reports a binding to CPUs.
func (c *call) sayBind(verbose bool, kind, list string) {
	quiet := "quiet"
	if verbose {
		quiet = "verbose"
	}
	typ := kind
	if list != "" {
		typ += ":"
	}
	c.say("SLURM_CPU_BIND", quiet+","+typ+list)
	c.say("SLURM_CPU_BIND_LIST", list)
	c.say("SLURM_CPU_BIND_TYPE", typ)
	c.say("SLURM_CPU_BIND_VERBOSE", quiet)
}

// env is a variable; in a component of a heterogeneous job the component's own.
func (c *call) env(name string) string {
	if c.group >= 0 {
		if v, ok := lookup(c.vars, name+"_HET_GROUP_"+strconv.Itoa(c.group)); ok {
			return v
		}
	}
	v, _ := lookup(c.vars, name)
	return v
}

func lookup(vars []string, name string) (string, bool) {
	for _, v := range slices.Backward(vars) {
		if rest, ok := strings.CutPrefix(v, name); ok && rest != "" && rest[0] == '=' {
			return rest[1:], true
		}
	}
	return "", false
}

// components are the pieces of a command line between words ":".
func components(args []string) [][]string {
	var all [][]string
	for {
		i := slices.Index(args, ":")
		if i < 0 {
			return append(all, args)
		}
		all, args = append(all, args[:i]), args[i+1:]
	}
}

// parse reads one component. An error is an *exit.
func parse(args, vars []string, group int) (*call, error) {
	found, operands, gerr := newSet().Parse(args, getopt.StopAtFirst)
	c := &call{args: args, vars: vars, group: group, export: "ALL", stdin: "all"}
	for _, f := range found { // which component it is decides which variables count
		if f.Name == "het-group" || f.Name == "pack-group" {
			if err := setGroups(c, f.Value); err != nil {
				return nil, err
			}
		}
	}
	if len(c.groups) > 0 {
		c.group = c.groups[0]
	}
	c.groups = nil
	if err := c.environment(); err != nil {
		return nil, err
	}
	for _, f := range found {
		if set := options[f.ID].set; set != nil {
			if err := set(c, f.Value); err != nil {
				return nil, err
			}
		}
	}
	if gerr != nil {
		return nil, &exit{255, "", gerr.Error() + "\nTry \"srun --help\" for more information\n"}
	}
	if len(operands) == 0 {
		return nil, &exit{1, "", "srun: fatal: No command given to execute.\n"}
	}
	c.argv = operands
	if err := c.givenContainer(); err != nil {
		return c, err
	}
	return c, c.resolve()
}

// environment reads the options that variables give. A value that cannot be read is left alone, as
// srun does with a word of warning.
func (c *call) environment() error {
	c.inEnv = true
	defer func() { c.inEnv = false }()
	for i := range options {
		for _, name := range options[i].env {
			v := c.env(name)
			if v == "" {
				continue
			}
			if flag := options[i].arg == no; flag && (v == "0" || strings.EqualFold(v, "no")) {
				continue
			}
			if err := options[i].set(c, v); err != nil {
				if options[i].name == "container" {
					return err
				}
				c.inform(fmt.Sprintf("error: %s=%s is left alone: %s", name, v, strings.TrimSpace(strings.TrimPrefix(err.Error(), "srun: error: "))))
			}
		}
	}
	return nil
}
