package srun

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/cloud/steps/wire"
	"fsub/cmd/internal/nofile"
)

// request is the step that the components of a command line ask for.
func request(calls []*call) (*wire.Request, error) {
	first := calls[0]
	r := &wire.Request{Name: first.name, Timeout: first.timeout, Quiet: first.quiet, Wait: first.immediate, TestOnly: first.testOnly,
		Host: envOf(first.vars, "SLURMD_NODENAME"), PID: os.Getpid()}
	for _, c := range calls {
		if r.MPI == "" {
			r.MPI = c.mpi
		}
	}
	if r.Name == "" {
		r.Name = base(first.argv[0])
	}
	for _, c := range calls {
		p, err := c.part()
		if err != nil {
			return nil, err
		}
		groups := c.groups
		if len(groups) == 0 {
			groups = []int{max(c.group, 0)}
		}
		for _, g := range groups {
			own, err := c.forGroup(p, g)
			if err != nil {
				return nil, err
			}
			r.Parts = append(r.Parts, own)
		}
	}
	return r, nil
}

// forGroup is the part of a call for one of the components that it runs over: what the environment
// says of sizes is that component's. Tasks of all have the same environment.
func (c *call) forGroup(p wire.Part, group int) (wire.Part, error) {
	if c.group >= 0 && group != c.group {
		own, err := parse(append([]string{"--het-group=" + strconv.Itoa(group)}, c.args...), c.vars, group)
		if err != nil {
			return p, err
		}
		env := p.Env
		if p, err = own.part(); err != nil {
			return p, err
		}
		p.Env = env
	}
	p.Group = group
	return p, nil
}

func (c *call) part() (wire.Part, error) {
	p := wire.Part{
		Ask: c.ask, Argv: c.argv, Env: c.taskEnv(), Dir: c.dir, Umask: currentUmask(), Limits: limits(), Append: c.append,
		Unbuffered: c.unbuffered, CPUBind: c.cpuBind, GPUBind: c.gpuBind, Distribution: c.shownDistribution,
	}
	if p.Dir == "" {
		p.Dir, _ = os.Getwd()
	}
	if c.box.Asked() {
		p.Container = &c.box
	}
	p.Stdin, p.Stdout, p.Stderr = c.streams()
	if c.multiProg {
		programs, err := readPrograms(c.argv, c.ask.Tasks)
		if err != nil {
			return p, err
		}
		p.Programs = programs
	}
	return p, nil
}

// currentUmask changes nothing for longer than a moment in which this process makes no file.
func currentUmask() int {
	old := syscall.Umask(0o77)
	syscall.Umask(old)
	return old
}

// limits are srun's own soft limits; its tasks get them as far as their machine allows.
func limits() (all []wire.Limit) {
	for _, r := range [...]int{unix.RLIMIT_CPU, unix.RLIMIT_FSIZE, unix.RLIMIT_DATA, unix.RLIMIT_STACK, unix.RLIMIT_CORE, unix.RLIMIT_RSS,
		unix.RLIMIT_NPROC, unix.RLIMIT_NOFILE, unix.RLIMIT_MEMLOCK, unix.RLIMIT_AS} {
		var l unix.Rlimit
		if unix.Getrlimit(r, &l) == nil {
			if r == unix.RLIMIT_NOFILE {
				l.Cur = nofile.Soft // the runtime has raised it since
			}
			all = append(all, wire.Limit{Resource: r, Soft: l.Cur})
		}
	}
	return all
}

// taskEnv is what tasks get of srun's environment, with what its options say to them: of those on
// its own command line only (24.11).
func (c *call) taskEnv() []string {
	env := c.exported()
	set := func(name, value string) {
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, name+"="+value)
	}
	if v := c.env("SLURM_CPUS_PER_TASK"); v != "" && c.group >= 0 { // of a component, which has it by its number only
		set("SLURM_CPUS_PER_TASK", v)
	}
	for _, v := range c.says {
		set(v[0], v[1])
	}
	if c.tresPerTask != nil {
		set("SLURM_TRES_PER_TASK", strings.Join(c.tresPerTask, ","))
	}
	if c.perNodeGiven && c.ask.TasksPerNode > 0 {
		set("SLURM_NTASKS_PER_NODE", strconv.Itoa(c.ask.TasksPerNode))
	}
	return env
}

// exported is what --export leaves: everything, or Slurm's own and the names that it lists.
func (c *call) exported() []string {
	words := strings.Split(c.export, ",")
	all, some := false, []string(nil)
	for _, w := range words {
		switch name, _, set := strings.Cut(w, "="); {
		case w == "ALL":
			all = true
		case w == "NONE" || w == "NIL" || w == "":
		case set:
			some = append(some, w)
		default:
			if v, ok := lookup(c.vars, name); ok {
				some = append(some, name+"="+v)
			}
		}
	}
	var env []string
	for _, e := range c.vars {
		name, _, _ := strings.Cut(e, "=")
		if _, again := lookup(some, name); !again && (all || strings.HasPrefix(e, "SLURM") || strings.HasPrefix(e, "SPANK_") || strings.HasPrefix(e, "FSUB_")) {
			env = append(env, e)
		}
	}
	return append(env, some...)
}

// streams says where the tasks' streams go. A pattern with a letter of the task or node is opened
// where the task runs, another by srun itself.
func (c *call) streams() (in, out, err wire.Stream) {
	in = streamOf(c.stdin)
	if c.stdout != nil {
		out = streamOf(*c.stdout)
	}
	switch {
	case c.stderr != nil:
		err = streamOf(*c.stderr)
	case out.Kind == "file":
		err = wire.Stream{Kind: "stdout"}
	default:
		err = out
	}
	return in, out, err
}

func streamOf(v string) wire.Stream {
	if n, err := strconv.Atoi(v); err == nil && n >= 0 {
		return wire.Stream{Rank: &n}
	}
	switch {
	case v == "none":
		return wire.Stream{Kind: "null"}
	case strings.HasPrefix(v, "all"): // any such name counts as the word (24.11)
	case perTask(v):
		return wire.Stream{Kind: "file", Pattern: v}
	}
	return wire.Stream{}
}

// perTask: the pattern has %t, %n or %N.
func perTask(v string) bool {
	for i := 0; i < len(v); i++ {
		if v[i] != '%' {
			continue
		}
		for i++; i < len(v) && v[i] >= '0' && v[i] <= '9'; i++ {
		}
		if i < len(v) && (v[i] == 't' || v[i] == 'n' || v[i] == 'N') {
			return true
		}
	}
	return false
}

// ownFile is the pattern of a stream that srun itself opens, "" if there is none.
func ownFile(v string) string {
	if _, err := strconv.Atoi(v); err == nil || v == "" || strings.HasPrefix(v, "all") || v == "none" || perTask(v) {
		return ""
	}
	return v
}

// readPrograms reads a --multi-prog file.
func readPrograms(argv []string, tasks int) ([]wire.Program, error) {
	text, err := os.ReadFile(argv[0])
	if err != nil {
		return nil, bad("Could not open multi_prog config file %s", argv[0])
	}
	var all []wire.Program
	rest := false
	have := map[int]bool{}
	for n, line := range strings.Split(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		words := strings.Fields(line) // quotes mean nothing to srun
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 2 {
			return nil, bad("Configuration file %s invalid: line %d has no program", argv[0], n+1)
		}
		p := wire.Program{Rest: words[0] == "*", Argv: append(words[1:], argv[1:]...)}
		rest = rest || p.Rest
		if !p.Rest {
			if p.Ranks, err = ranks(words[0]); err != nil {
				return nil, bad("Configuration file %s invalid: line %d: %s", argv[0], n+1, err)
			}
			for _, r := range p.Ranks {
				have[r] = true
			}
		}
		all = append(all, p)
	}
	for r := range max(tasks, 1) {
		if !rest && !have[r] {
			return nil, bad("Configuration file %s invalid, no record for task id %d", argv[0], r)
		}
	}
	return all, nil
}

// ranks reads "0,2-4,6-10:2".
func ranks(list string) (all []int, err error) {
	for item := range strings.SplitSeq(list, ",") {
		span, step, stepped := strings.Cut(item, ":")
		first, last, ranged := strings.Cut(span, "-")
		a, e1 := strconv.Atoi(first)
		b, s := a, 1
		if ranged {
			b, err = strconv.Atoi(last)
		}
		if stepped && err == nil {
			s, err = strconv.Atoi(step)
		}
		if e1 != nil || err != nil || a < 0 || b < a || s < 1 || b > 1<<20 {
			return nil, fmt.Errorf("bad task id %q", item)
		}
		for ; a <= b; a += s {
			all = append(all, a)
		}
	}
	return all, nil
}
