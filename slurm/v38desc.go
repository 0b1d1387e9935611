package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/wire"
	"fsub/slurm/words"
)

// desc38 is a job in the words of v0.0.38: sbatch's options by long names. A key that slurmrestd does not know makes it refuse the job; of
// some it looks only whether they are there. test_only must never be among them: 22.05 submits such a job for real.
type desc38 map[string]any

// set adds a key unless its value says that nothing was asked for.
func set38[T comparable](d desc38, key string, value T) {
	if zero := *new(T); value != zero {
		d[key] = value
	}
}

// describeV38 is what [describe] is for later versions. What sbatch derives from the options slurmrestd derives itself here.
func describeV38(s *federation.Submission, h how) (any, error) {
	sp := s.Job.Spec
	if sp.Nice < 0 {
		return nil, slurmError(federation.ErrInvalid, wire.Error{Number: wire.ErrNice}, "only operators may ask for a negative one")
	}
	d := desc38{}
	words.Describe38(d, sp)
	set38(d, "partition", s.Partition)
	if sp.GRES != "none" {
		set38(d, "gres", sp.GRES)
	}
	set38(d, "hold", s.Job.Held != federation.NotHeld)
	if r := sp.Requeue; r != nil && *r {
		d["requeue"] = true
	} else if r != nil {
		d["no_requeue"] = true
	}
	d.size(sp)
	d.times(sp)
	d.files(s, h.until2302)
	if do, _ := sp.NodeLoss(); do == sbatch.LossShrink {
		d["no_kill"] = "set"
	}
	if sp.More != nil {
		d.more(sp.More)
	}
	body := map[string]any{"job": d, "script": s.Payload.Script}
	switch {
	case len(s.Payload.Argv) > 0 && h.argv:
		d["argv"] = append([]string{"script"}, s.Payload.Argv...)
	case len(s.Payload.Argv) > 0:
		body["script"] = withArguments(s.Payload.Script, s.Payload.Argv)
	}
	return body, nil
}

// size sets nodes, tasks, CPUs and memory.
func (d desc38) size(sp *sbatch.Spec) {
	switch { // a string: of a list 22.05 makes one node
	case sp.MaxNodes > sp.MinNodes:
		d["nodes"] = fmt.Sprintf("%d-%d", max(1, sp.MinNodes), sp.MaxNodes)
	case sp.MaxNodes == 0 && (sp.NodeList != "" || sp.NTasksPerNode > 0): // derived, as slurmctld derives it
	case sp.MinNodes > 0: // with an upper bound it would get as many as are free
		d["nodes"] = strconv.Itoa(sp.MinNodes)
	}
	switch {
	case sp.NTasks > 0:
		d["tasks"] = sp.NTasks
	case sp.NTasksPerNode > 0: // as sbatch reckons. What it reckons for nodes alone it does not tell the job, and so the site is not told either
		d["tasks"] = max(1, sp.MinNodes) * sp.NTasksPerNode
	}
	switch {
	case sp.MemPerNode == sbatch.MemAll:
		d["memory_per_node"] = "0"
	case sp.MemPerNode > 0:
		d["memory_per_node"] = int64(sp.MemPerNode)
	case sp.MemPerCPU > 0:
		d["memory_per_cpu"] = int64(sp.MemPerCPU)
	case sp.MemPerGPU > 0:
		d["memory_per_gpu"] = int64(sp.MemPerGPU)
	}
	if sp.Exclusive == "oversubscribe" {
		d["oversubscribe"] = true
	} else {
		set38(d, "exclusive", sp.Exclusive)
	}
}

// times sets limits, times and the warning signal. "uts" and Unix time is a form that knows no time zone.
func (d desc38) times(sp *sbatch.Spec) {
	minutes := func(key string, limit time.Duration) {
		if limit == sbatch.Unlimited {
			d[key] = "UNLIMITED"
		} else {
			set38(d, key, int64(limit/time.Minute))
		}
	}
	minutes("time_limit", sp.TimeLimit)
	minutes("time_minimum", sp.TimeMin)
	if !sp.Begin.IsZero() {
		d["begin_time"] = fmt.Sprintf("uts%d", sp.Begin.Unix())
	}
	if !sp.Deadline.IsZero() {
		d["deadline"] = fmt.Sprintf("uts%d", sp.Deadline.Unix())
	}
	if s := sp.Signal; s != nil {
		text := fmt.Sprintf("%s@%d", s.Name, s.Before/time.Second)
		if s.Reservation {
			text = "R:" + text
		}
		d["signal"] = text
	}
}

// files sets the environment, and where input and output are.
func (d desc38) files(s *federation.Submission, old bool) {
	sp := s.Job.Spec
	env := map[string]string{}
	for _, v := range s.Payload.Environment {
		if name, value, ok := strings.Cut(v, "="); ok {
			env[name] = value
		}
	}
	if old {
		environment2302(env, sp)
	}
	if s.Restarts > 0 {
		env["SLURM_RESTART_COUNT"], env["FSUB_RESTARTS"] = strconv.Itoa(s.Restarts), strconv.Itoa(s.Restarts)
	}
	if len(env) == 0 { // refused otherwise
		env["SLURM_SUBMIT_DIR"] = sp.WorkDir
	}
	d["environment"] = env
	d["standard_input"] = file(sp.WorkDir, sp.Input)
	if sp.Input == "" {
		d["standard_input"] = "/dev/null"
	}
	set38(d, "standard_output", file(sp.WorkDir, sp.Output))
	set38(d, "standard_error", file(sp.WorkDir, sp.Error))
}

// newer are variables that sbatch sets from 23.11 on. To an older srun the launchers' option is an error.
var newer = []string{"SLURM_TRES_PER_TASK", "SLURM_TRES_BIND", "OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args", "HYDRA_BOOTSTRAP",
	"HYDRA_LAUNCHER_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"}

// environment2302 turns what sbatch of 23.11 puts into the environment into what 23.02 and 22.05 do. What the user set otherwise stays.
func environment2302(env map[string]string, sp *sbatch.Spec) {
	bind := strings.TrimPrefix(env["SLURM_TRES_BIND"], "gres/gpu:")
	for _, name := range newer {
		if v := env[name]; strings.HasPrefix(name, "SLURM_") || v == "slurm" || v == "--external-launcher" {
			delete(env, name)
		}
	}
	if sp.GPUsPerTask != "" {
		env["SLURM_GPUS_PER_TASK"] = sp.GPUsPerTask
	}
	if sp.More != nil && sp.More.GPUBind != "" && bind != "" {
		env["SLURM_GPU_BIND"] = bind
	}
	if sp.More != nil && sp.More.CPUFreq != "" {
		env["SLURM_CPU_FREQ_REQ"] = sp.More.CPUFreq // later slurmctlds set it
	}
	if n := max(1, sp.MinNodes) * sp.NTasksPerNode; n > 0 && sp.NTasks == 0 {
		env["SLURM_NTASKS"], env["SLURM_NPROCS"] = strconv.Itoa(n), strconv.Itoa(n)
	}
}

// more sets what is asked for beyond the usual.
func (d desc38) more(m *sbatch.More) {
	sockets, cores, threads, tasksPerCore := m.Layout()
	for key, n := range map[string]int{"sockets_per_node": sockets, "cores_per_socket": cores, "threads_per_core": threads, "tasks_per_core": tasksPerCore} {
		set38(d, key, n)
	}
	if m.WaitAllNodes != "" {
		d["wait_all_nodes"] = map[sbatch.YesNo]int{sbatch.Yes: 1}[m.WaitAllNodes]
	}
	if m.NoCoreSpec {
		d["core_specification"] = 0
	}
	if m.DelayBoot == sbatch.Unlimited {
		d["delay_boot"] = "INFINITE"
	} else if m.DelayBoot > 0 {
		d["delay_boot"] = fmt.Sprintf("%d:%02d:%02d", int(m.DelayBoot.Hours()), int(m.DelayBoot.Minutes())%60, int(m.DelayBoot.Seconds())%60)
	}
}

// shells are the interpreters that can set their own arguments.
var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ksh": true, "zsh": true}

// withArguments makes a script that finds its arguments without being given any: slurmrestd before 22.05.9 takes a job with arguments and then
// dies. A shell script sets them in its second line; any other is read by its interpreter from a third file.
func withArguments(script string, argv []string) string {
	first, rest, _ := strings.Cut(script, "\n")
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	if len(words) == 0 {
		return script
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if name == "env" && len(words) > 1 {
		name = words[1]
	}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	if shells[name] {
		return first + "\nset -- " + strings.Join(quoted, " ") + "\n" + rest
	}
	end := "FSUB_END_OF_SCRIPT"
	for strings.Contains(script, end) {
		end += "_"
	}
	return "#!/bin/sh\nexec " + strings.Join(words, " ") + " /dev/fd/3 " + strings.Join(quoted, " ") + " 3<<'" + end + "'\n" +
		strings.TrimSuffix(script, "\n") + "\n" + end + "\n"
}
