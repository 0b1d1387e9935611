package place

import (
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// Adapt makes of a submission what its site is to be sent where it was offered sub.Offer: the job asks for the kind of GPU that the offer
// counts with (see [Effective]), and finds that in its environment; options of plugins are in the environment too, for slurmstepd. sub.Job must be a copy of the submission's own; what it points to, and the payload's slices, are not
// changed.
func Adapt(sub *federation.Submission, options []federation.PluginOption) {
	before := sub.Job.Spec
	sub.Job.SetSpec(Effective(*before, &sub.Offer))
	if env := environment(before, sub.Job.Spec); len(env) > 0 {
		sub.Payload.Environment = replaced(sub.Payload.Environment, env)
	}
	if len(before.Plugin) > 0 {
		sub.Payload.Environment = withPlugins(sub.Payload.Environment, before.Plugin, options)
	}
}

// variable is an environment variable that repeats what an option asked for.
type variable struct{ name, was, is string }

// environment lists the variables that differ between before and after.
func environment(before, after *sbatch.Spec) []variable {
	number := func(n int) string { return strconv.Itoa(n) }
	var b, a sbatch.More
	if before.More != nil && after.More != nil {
		b, a = *before.More, *after.More
	}
	all := []variable{
		{"SLURM_GPUS", before.GPUs, after.GPUs},
		{"SLURM_GPUS_PER_NODE", before.GPUsPerNode, after.GPUsPerNode},
		{"SLURM_GPUS_PER_SOCKET", b.GPUsPerSocket, a.GPUsPerSocket},
		{"SLURM_MEM_PER_GPU", number(int(before.MemPerGPU)), number(int(after.MemPerGPU))},
		{"SLURM_CPUS_PER_GPU", number(b.CPUsPerGPU), number(a.CPUsPerGPU)},
		{"SLURM_NTASKS", number(before.NTasks), number(after.NTasks)},
		{"SLURM_NPROCS", number(before.NTasks), number(after.NTasks)},
		{"SLURM_TRES_PER_TASK", perTask(before.GPUsPerTask), perTask(after.GPUsPerTask)},
		{"SLURM_TRES_BIND", perTaskBind(before.GPUsPerTask), perTaskBind(after.GPUsPerTask)},
	}
	return slices.DeleteFunc(all, func(v variable) bool { return v.was == v.is })
}

// perTask is how SLURM_TRES_PER_TASK writes a --gpus-per-task of one kind.
func perTask(gpus string) string {
	kind, count, typed := strings.Cut(gpus, ":")
	if !typed {
		return "gres/gpu=" + kind
	}
	return "gres/gpu:" + kind + "=" + count
}

// perTaskBind is the binding that goes with a --gpus-per-task.
func perTaskBind(gpus string) string {
	asks, _ := gres.ParseGPUs(gpus)
	n := 0
	for _, g := range asks {
		n += g.Count
	}
	return "gres/gpu:per_task:" + strconv.Itoa(n)
}

// replaced updates the variables that still have their old values. A user may have set others on purpose.
func replaced(env []string, vars []variable) []string {
	env = slices.Clone(env)
	for i, e := range env {
		name, value, _ := strings.Cut(e, "=")
		for _, v := range vars {
			if v.name != name {
				continue
			}
			items := []string{value}
			if name == "SLURM_TRES_PER_TASK" {
				items = strings.Split(value, ",")
			}
			if k := slices.Index(items, v.was); k >= 0 {
				items[k] = v.is
				env[i] = name + "=" + strings.Join(items, ",")
			}
		}
	}
	return env
}

// withPlugins adds the options of plugins as sbatch leaves them in a job's environment: the plugin finds the first variable in the batch
// step, which takes it out, and srun reads the second for its steps. slurmrestd has no field for them, and passes both on (measured
// with a plugin of our own on 22.05, 24.11 and 26.05: the same calls with the same values as after sbatch).
func withPlugins(env []string, asked []sbatch.PluginOption, known []federation.PluginOption) []string {
	env = slices.Clone(env)
	for _, o := range asked {
		i := slices.IndexFunc(known, func(k federation.PluginOption) bool { return k.Name == o.Name })
		if i >= 0 {
			name := spankVariable(known[i].Plugin, o.Name)
			forSteps := o.Value
			if forSteps == "" {
				forSteps = "(null)" // so sbatch writes that there is none
			}
			env = append(env, name+"="+o.Value, "SLURM_SPANK_"+name+"="+forSteps)
		}
	}
	return env
}

// spankVariable is the name of the variable that holds an option of a SPANK plugin. What is neither a letter nor a digit is an
// underscore there.
func spankVariable(plugin, option string) string {
	return "_SLURM_SPANK_OPTION_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, plugin+"_"+option)
}
