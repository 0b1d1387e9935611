package sbatch

import (
	"slices"
	"strconv"
	"strings"
)

// environ collects a job's environment; a later value of a name takes the place of an earlier one.
type environ struct {
	vars  []string
	index map[string]int
}

func newEnviron(room int) *environ {
	return &environ{vars: make([]string, 0, room), index: make(map[string]int, room)}
}

func (e *environ) add(entry string) {
	name, _, ok := strings.Cut(entry, "=")
	if !ok || name == "" {
		return
	}
	if i, there := e.index[name]; there {
		e.vars[i] = entry
		return
	}
	e.index[name] = len(e.vars)
	e.vars = append(e.vars, entry)
}

func (e *environ) set(name, value string) { e.add(name + "=" + value) }

func (e *environ) has(name string) bool {
	_, ok := e.index[name]
	return ok
}

func (e *environ) drop(name string) {
	if i, ok := e.index[name]; ok {
		e.vars[i] = ""
		delete(e.index, name)
	}
}

// list is what was collected.
func (e *environ) list() []string {
	kept := e.vars[:0]
	for _, v := range e.vars {
		if v != "" {
			kept = append(kept, v)
		}
	}
	return kept
}

// jobEnvironment makes the environment of a job: what --export passes on of the caller's, and what sbatch adds.
type jobEnvironment struct {
	in        *Input
	export    *string  // --export
	propagate *string  // --propagate
	login     bool     // load the user's login environment first
	umask     *int     // of #PBS -W umask=
	file      string   // --export-file
	vars      []string // the content of file
}

// build returns the environment of the job that s describes.
func (j *jobEnvironment) build(s *Spec) []string {
	e := newEnviron(len(j.in.Env) + 48)
	j.exportEnvironment(e)
	if len(s.Het) == 0 {
		addOptions(e, s)
	} else {
		addLeader(e, s)
	}
	j.restoreFile(e)
	addComponents(e, s)
	j.addLaunchers(e)
	j.addSubmitter(e)
	return e.list()
}

// exportEnvironment follows --export: ALL (or nothing), NONE, NIL, or a list of NAME and NAME=value
// in which ALL may stand. SLURM_* go through in any case. NONE and lists let the job load its
// user's login environment first.
//
// What --export-file holds takes the place of the caller's environment. A list then lets all of it
// through, and adds what it sets.
func (j *jobEnvironment) exportEnvironment(e *environ) {
	words := "ALL"
	if j.export != nil {
		words = *j.export
	}
	everything, none, nothing := strings.EqualFold(words, "ALL"), strings.EqualFold(words, "NONE"), strings.EqualFold(words, "NIL")
	switch {
	case none || nothing:
	case j.vars != nil:
		addAll(e, j.vars)
		for _, item := range splitQuoted(words) {
			e.add(item) // entries that are not NAME=value are ignored
		}
	case everything:
		addAll(e, j.in.Env)
	default:
		j.exportList(e, j.in.Env)
	}
	if !everything && j.vars == nil {
		for _, v := range j.in.Env {
			if strings.HasPrefix(v, "SLURM_") {
				e.add(v)
			}
		}
		e.set("SLURM_EXPORT_ENV", *j.export)
	}
	if j.login || !everything && !nothing {
		e.set("SLURM_GET_USER_ENV", "1")
	}
}

func addAll(e *environ, vars []string) {
	for _, v := range vars {
		e.add(v)
	}
}

// wholeJob are variables that sbatch sets as it reads its options: for a job as a whole, never for
// a component of it.
var wholeJob = []string{"SLURM_JOB_NAME", "SLURM_OPEN_MODE", "SLURM_HINT", "SLURM_JOB_DEPENDENCY", "SLURM_CONTAINER", "SLURM_CONTAINER_ID"}

// restoreFile puts back what sbatch sets before it reads --export-file, which replaces all that is set by then.
func (j *jobEnvironment) restoreFile(e *environ) {
	if j.vars == nil {
		return
	}
	for _, name := range wholeJob {
		if v, ok := lookup(j.vars, name); ok {
			e.set(name, v)
		} else {
			e.drop(name)
		}
	}
}

// exportList takes the variables of a list, item by item.
func (j *jobEnvironment) exportList(e *environ, env []string) {
	for _, item := range splitQuoted(*j.export) {
		if strings.EqualFold(item, "ALL") {
			for _, v := range env {
				e.add(v)
			}
		} else if strings.Contains(item, "=") {
			e.add(item)
		} else if v, ok := lookup(env, item); ok {
			e.set(item, v)
		}
	}
}

// splitQuoted splits at commas outside quotes. Quotes around a whole item go; inside one, sbatch
// leaves them in the value.
func splitQuoted(s string) (items []string) {
	quote := byte(0)
	start := 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || quote == 0 && s[i] == ',':
			if item := s[start:i]; item != "" {
				items = append(items, unquoted(item))
			}
			start = i + 1
		case s[i] == quote:
			quote = 0
		case quote == 0 && (s[i] == '"' || s[i] == '\''):
			quote = s[i]
		}
	}
	return items
}

func unquoted(item string) string {
	if n := len(item); n >= 2 && (item[0] == '"' || item[0] == '\'') && item[n-1] == item[0] {
		return item[1 : n-1]
	}
	return item
}

// addOptions adds the variables by which a job knows how it was asked for. They are present only if
// the option was.
func addOptions(e *environ, s *Spec) {
	number := func(name string, n int) {
		if n != 0 {
			e.set(name, strconv.Itoa(n))
		}
	}
	word := func(name, v string) {
		if v != "" {
			e.set(name, v)
		}
	}
	number("SLURM_NTASKS", s.NTasks)
	number("SLURM_NPROCS", s.NTasks)
	number("SLURM_NTASKS_PER_NODE", s.NTasksPerNode)
	number("SLURM_CPUS_PER_TASK", s.CPUsPerTask)
	word("SLURM_GPUS", s.GPUs)
	word("SLURM_GPUS_PER_NODE", s.GPUsPerNode)
	if s.MemPerGPU > 0 {
		e.set("SLURM_MEM_PER_GPU", strconv.FormatInt(int64(s.MemPerGPU), 10))
	}
	if s.OpenMode != "" {
		e.set("SLURM_OPEN_MODE", s.OpenMode[:1])
	}
	word("SLURM_JOB_DEPENDENCY", s.Dependency)
	if s.More != nil {
		addMore(s, number, word)
	}
	e.set("SLURM_JOB_NAME", s.Name)
	addPerTask(e, s)
}

// addMore adds the variables of the options in s.More.
func addMore(s *Spec, number func(string, int), word func(name, v string)) {
	m := s.More
	_, _, threads, perCore := m.Layout()
	word("SLURM_HINT", m.Hint)
	number("SLURM_THREADS_PER_CORE", threads)
	number("SLURM_NTASKS_PER_CORE", perCore)
	number("SLURM_NTASKS_PER_SOCKET", m.NTasksPerSocket)
	number("SLURM_NTASKS_PER_GPU", m.NTasksPerGPU)
	number("SLURM_NTASKS_PER_TRES", m.NTasksPerTRES)
	number("SLURM_CPUS_PER_GPU", m.CPUsPerGPU)
	word("SLURM_GPUS_PER_SOCKET", m.GPUsPerSocket)
	word("SLURM_GPU_FREQ", m.GPUFreq)
	if m.MemBind != "" {
		word("SLURM_MEM_BIND", m.MemBind)
		word("SLURM_MEM_BIND_VERBOSE", map[bool]string{true: "verbose", false: "quiet"}[strings.Contains(m.MemBind, "verbose")])
	}
	word("SLURM_CONTAINER", m.Container)
	word("SLURM_CONTAINER_ID", m.ContainerID)
	method, plane, _ := strings.Cut(strings.ToLower(m.Distribution), "=")
	word("SLURM_DISTRIBUTION", method)
	word("SLURM_DIST_PLANESIZE", plane)
	if method == "arbitrary" {
		word("SLURM_ARBITRARY_NODELIST", s.NodeList)
	}
}

// addPerTask adds what each task gets, for srun in the job. Since 24.11 it includes -c and --gpus-per-task.
func addPerTask(e *environ, s *Spec) {
	var parts []string
	if s.CPUsPerTask != 0 {
		parts = append(parts, "cpu="+strconv.Itoa(s.CPUsPerTask))
	}
	gpus := 0
	for _, item := range strings.Split(s.GPUsPerTask, ",") {
		if item == "" {
			continue
		}
		kind, count, typed := strings.Cut(item, ":")
		if !typed {
			kind, count = "", item
		}
		if !digits(count) {
			continue // a type alone: sbatch says nothing of it either
		}
		n, _, _ := number(count)
		if n == 0 {
			continue
		}
		name := "gres/gpu"
		if kind != "" {
			name += ":" + kind
		}
		parts = append(parts, name+"="+count)
		gpus += int(n)
	}
	if s.More != nil && s.More.TRESPerTask != "" {
		parts = append(parts, s.More.TRESPerTask)
	}
	if parts != nil {
		e.set("SLURM_TRES_PER_TASK", strings.Join(parts, ","))
	}
	switch {
	case s.More != nil && s.More.TRESBind != "":
		e.set("SLURM_TRES_BIND", s.More.TRESBind)
	case s.More != nil && s.More.GPUBind != "":
		e.set("SLURM_TRES_BIND", "gres/gpu:"+s.More.GPUBind)
	case gpus > 0:
		e.set("SLURM_TRES_BIND", "gres/gpu:per_task:"+strconv.Itoa(gpus))
	}
}

// addLaunchers makes the launchers of MPI libraries start through srun outside of any step, unless
// the user has chosen another way.
func (j *jobEnvironment) addLaunchers(e *environ) {
	absent := func(name, value string) {
		if !e.has(name) {
			e.set(name, value)
		}
	}
	const args = "--external-launcher"
	absent("OMPI_MCA_plm_slurm_args", args)
	absent("PRTE_MCA_plm_slurm_args", args)
	for _, h := range [...]struct{ bootstrap, args string }{{"HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS"},
		{"I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}} {
		if v, ok := lookup(j.in.Env, h.bootstrap); !ok || v == "slurm" {
			absent(h.bootstrap, "slurm")
			absent(h.args, args)
		}
	}
}

// addSubmitter adds where, by whom and under which limits the job was submitted.
func (j *jobEnvironment) addSubmitter(e *environ) {
	e.set("SLURM_SUBMIT_DIR", j.in.Dir)
	e.set("SLURM_SUBMIT_HOST", j.in.Host)
	e.set("SLURM_PRIO_PROCESS", strconv.Itoa(j.in.Nice))
	umask := j.in.Umask
	if j.umask != nil {
		umask = *j.umask
	}
	if j.umask != nil || !e.has("SLURM_UMASK") {
		e.set("SLURM_UMASK", octal(umask))
	}
	if j.in.Limits == nil || j.login || j.vars != nil {
		return
	}
	for _, l := range j.in.Limits() {
		switch value := strconv.FormatUint(l.Value, 10); {
		case j.propagate == nil:
			e.set("SLURM_RLIMIT_"+l.Name, value)
		case j.propagates(l.Name): // as the user asked: the node fails the job loudly if it cannot set the limit
			e.set("SLURM_RLIMIT_"+l.Name, "U"+value)
		}
	}
}

// saySubmitter keeps what -vv prints of that: debug messages of sbatch.
func (j *jobEnvironment) saySubmitter(n *notices) {
	if n.verbose < 2 {
		return
	}
	if j.in.Limits != nil {
		for _, l := range j.in.Limits() {
			if j.propagate == nil || j.propagates(l.Name) {
				n.inform("sbatch: debug:  propagating RLIMIT_" + l.Name + "=" + strconv.FormatUint(l.Value, 10))
			}
		}
	}
	n.inform("sbatch: debug:  propagating SLURM_PRIO_PROCESS=" + strconv.Itoa(j.in.Nice))
	if _, has := lookup(j.in.Env, "SLURM_UMASK"); !has {
		n.inform("sbatch: debug:  propagating UMASK=" + octal(j.in.Umask))
	}
}

// octal writes a umask in four digits.
func octal(umask int) string {
	u := strconv.FormatInt(int64(umask), 8)
	return "0000"[:max(0, 4-len(u))] + u
}

// propagates reports whether --propagate names a limit.
func (j *jobEnvironment) propagates(name string) bool {
	return j.propagate != nil && (*j.propagate == "ALL" ||
		slices.ContainsFunc(limitNames(*j.propagate), func(w string) bool { return strings.TrimPrefix(w, "RLIMIT_") == name }))
}

// limitNames are the names in the value of --propagate.
func limitNames(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// knownLimit reports whether name may stand in a list of --propagate. ALL and NONE stand alone; in
// other letters sbatch knows no name.
func knownLimit(name string) bool {
	switch strings.TrimPrefix(name, "RLIMIT_") {
	case "CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NPROC", "NOFILE", "MEMLOCK", "AS":
		return true
	}
	return false
}

// verifyLimits looks at the names of --propagate.
func (j *jobEnvironment) verifyLimits(code int) error {
	if j.propagate == nil || *j.propagate == "ALL" || *j.propagate == "NONE" {
		return nil
	}
	for _, name := range limitNames(*j.propagate) {
		if !knownLimit(name) {
			return exit(code, "sbatch: error: Bad rlimit name: "+name, "sbatch: error: --propagate="+*j.propagate+" is not valid.")
		}
	}
	return nil
}

// addLeader adds the options of a heterogeneous job's first component under names without its
// number: srun takes the first one's for those of any.
func addLeader(e *environ, s *Spec) {
	own := newEnviron(0)
	addOptions(own, s)
	for _, entry := range own.list() {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(wholeJob, name) {
			e.add(entry)
		}
	}
}

// addComponents adds what the options of each component of a heterogeneous job say, under names
// that end with its number.
func addComponents(e *environ, leader *Spec) {
	if len(leader.Het) == 0 {
		return
	}
	one := *leader
	for i := range len(leader.Het) + 1 {
		if i > 0 {
			one = leader.Het[i-1]
		}
		own := newEnviron(0)
		addOptions(own, &one)
		for _, entry := range own.list() {
			if name, value, _ := strings.Cut(entry, "="); !slices.Contains(wholeJob, name) {
				e.set(name+"_HET_GROUP_"+strconv.Itoa(i), value)
				e.set(name+"_PACK_GROUP_"+strconv.Itoa(i), value) // what it was called up to 20.02
			}
		}
	}
}
