package srun

import (
	"slices"
	"strings"

	"fsub/cmd/internal/option"
	"fsub/cmd/internal/show"
	"fsub/sbatch"
	"fsub/sbatch/getopt"
)

var versionText = show.Version + "\n"

const usageText = "Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]] [ : [OPTIONS(N)...]] executable(N) [args(N)...]\n"

// askedHelp ends a call that asks for the help.
var askedHelp = &exit{}

// said is what the value of an option is called, and what the option is for.
type said struct{ value, help string }

// ofSteps are the options that say something of a step. A test holds that none is missing.
var ofSteps = map[string]said{
	"chdir":                    {"directory", "working directory of the tasks"},
	"container-entrypoint":     {"", "run the entry point of the image"},
	"container-entrypoint-log": {"", "show what the entry point prints"},
	"container-env":            {"names", "variables that the environment gives, whatever the image sets"},
	"container-image":          {"[user@][registry#]image[:tag]|file", "run the tasks in a container of this image or squashfs file"},
	"container-mount-home":     {"", "mount the home directory"},
	"container-mounts":         {"src:dst[:flags],...", "directories and files to mount"},
	"container-name":           {"name[:flag]", "name of the container, by which later steps use it again"},
	"container-readonly":       {"", "the file system of the container is read-only"},
	"container-remap-root":     {"", "be root within the container"},
	"container-save":           {"file", "save the container as a squashfs file when the step ends"},
	"container-unshare":        {"namespaces", "namespaces that the container does not share with the node"},
	"container-workdir":        {"directory", "working directory within the container"},
	"container-writable":       {"", "the file system of the container may be written"},
	"cpu-bind":                 {"type", "bind tasks to CPUs: none, rank, cores, threads, map_cpu:list, mask_cpu:list; help lists them"},
	"cpus-per-gpu":             {"n", "CPUs for each GPU"},
	"cpus-per-task":            {"n", "CPUs for each task"},
	"disable-status":           {"", "an interrupt ends the tasks at once, without showing their state first"},
	"distribution":             {"type", "how tasks are spread over the nodes: block, cyclic, plane=n, arbitrary"},
	"error":                    {"pattern", "where standard error goes: a file name pattern, none, or the number of a task"},
	"exact":                    {"", "take only the CPUs that the tasks ask for"},
	"exclude":                  {"nodes", "none of these nodes"},
	"exclusive":                {"user|mcs", "share no CPUs with other steps, and wait for free ones"},
	"export":                   {"ALL|NONE|names", "environment variables that the tasks get"},
	"external-launcher":        {"", "a step for a launcher that starts the tasks itself"},
	"gpu-bind":                 {"type", "bind tasks to GPUs: none, single:n, per_task:n, map_gpu:list, mask_gpu:list"},
	"gpus":                     {"n", "GPUs of the step"},
	"gpus-per-node":            {"n", "GPUs on each node"},
	"gpus-per-task":            {"n", "GPUs for each task"},
	"gres":                     {"gpu:n|none", "generic resources on each node"},
	"het-group":                {"n", "components of a heterogeneous job that the step runs in"},
	"hint":                     {"type", "compute_bound, memory_bound, multithread or nomultithread"},
	"immediate":                {"seconds", "fail if the resources are not free within this time"},
	"input":                    {"pattern", "where standard input comes from: a file name pattern, none, or the number of a task"},
	"job-name":                 {"name", "name of the step"},
	"jobid":                    {"id", "run the step in this job"},
	"kill-on-bad-exit":         {"0|1", "end the step when one task fails"},
	"label":                    {"", "put the number of the task in front of each line"},
	"mem":                      {"size[K|M|G|T]", "memory on each node, in MiB if no unit is given"},
	"mem-per-cpu":              {"size[K|M|G|T]", "memory for each CPU, in MiB if no unit is given"},
	"mem-per-gpu":              {"size[K|M|G|T]", "memory for each GPU, in MiB if no unit is given"},
	"mpi":                      {"type", "how the ranks of an MPI program find each other: none, pmi2, pmix; list lists them"},
	"multi-prog":               {"", "the command is a file that says which task runs which program"},
	"no-container-entrypoint":  {"", "do not run the entry point of the image"},
	"no-container-mount-home":  {"", "do not mount the home directory"},
	"no-container-remap-root":  {"", "stay the same user within the container"},
	"no-kill":                  {"off", "keep the step when one of its nodes fails"},
	"nodelist":                 {"nodes", "run on these nodes"},
	"nodes":                    {"min[-max]", "number of nodes"},
	"ntasks":                   {"n", "number of tasks"},
	"ntasks-per-core":          {"n", "tasks on each core"},
	"ntasks-per-gpu":           {"n", "tasks for each GPU"},
	"ntasks-per-node":          {"n", "tasks on each node"},
	"oom-kill-step":            {"0|1", "end the whole step when one task runs out of memory"},
	"open-mode":                {"append|truncate", "how output files are opened"},
	"output":                   {"pattern", "where standard output goes: a file name pattern, none, or the number of a task"},
	"overcommit":               {"", "more than one task for each CPU"},
	"overlap":                  {"", "share CPUs with other steps"},
	"pack-group":               {"n", "the old name of --het-group"},
	"pty":                      {"file descriptor", "give the first task a terminal"},
	"quiet":                    {"", "print errors only"},
	"quit-on-interrupt":        {"", "one interrupt ends the tasks"},
	"relative":                 {"n", "begin with the n-th node of the job"},
	"tasks-per-node":           {"n", "same as --ntasks-per-node"},
	"test-only":                {"", "do not run; say whether the options are understood"},
	"threads-per-core":         {"n", "threads that are used of each core"},
	"time":                     {"limit", "time limit of the step: minutes, MM:SS, HH:MM:SS, D-HH:MM"},
	"tres-bind":                {"spec", "how tasks are bound to resources"},
	"tres-per-task":            {"list", "resources for each task: cpu=2,gres/gpu:1"},
	"unbuffered":               {"", "pass output on as it comes, not line by line"},
	"verbose":                  {"", "say more of what is done; more with more -v"},
	"wait":                     {"seconds", "how long the other tasks may run on after the first has ended; 0: without end"},
}

// ofHelp are those that tell about srun itself.
var ofHelp = map[string]said{
	"help":    {"", "show this help"},
	"usage":   {"", "show how srun is called"},
	"version": {"", "show the version of Slurm whose srun this is"},
}

// About describes srun.
func About() option.About {
	a := option.About{Name: "srun", Does: "run a command as the tasks of a step", Usage: []string{strings.TrimSpace(strings.TrimPrefix(usageText, "Usage: "))},
		Text: "Within a job at a Slurm cluster srun is the cluster's own. On rented and local nodes it is ours, with the options below. " +
			"On a login node it gets a job for its command, and takes the options that say what the job needs; with --jobid the step runs in a job that is there."}
	ofJobs := map[string]getopt.Described{}
	described, _ := sbatch.Described()
	for _, g := range described {
		for _, d := range g.Options {
			ofJobs[d.Name] = d
		}
	}
	steps, boxes := getopt.Group{Title: "Options of steps"}, getopt.Group{Title: "Containers, as pyxis has them"}
	jobs, help := getopt.Group{Title: "Options of the job, which change nothing within one"}, getopt.Group{Title: "Help options"}
	for _, o := range options {
		d := getopt.Described{Option: getopt.Option{Name: o.name, Short: o.short, Arg: o.arg}, Env: strings.Join(o.env, " ")}
		if own, is := ofSteps[o.name]; is {
			d.Value, d.Help = own.value, own.help
			if strings.Contains(o.name, "container") {
				boxes.Options = append(boxes.Options, d)
			} else {
				steps.Options = append(steps.Options, d)
			}
		} else if own, is := ofHelp[o.name]; is {
			d.Help = own.help
			help.Options = append(help.Options, d)
		} else if refusals[o.name] != "" {
			a.Refused = append(a.Refused, "--"+o.name)
		} else if of, is := ofJobs[o.name]; is {
			d.Value, d.Help = of.Value, of.Help
			jobs.Options = append(jobs.Options, d)
		} else {
			a.Ignored = append(a.Ignored, "--"+o.name)
		}
	}
	a.Groups = slices.Clip([]getopt.Group{steps, boxes, jobs, help})
	return a
}

const cpuBindHelp = `CPU bind options:
    --cpu-bind=         Bind tasks to CPUs
        q[uiet]         quietly bind before task runs (default)
        v[erbose]       verbosely report binding before task runs
        no[ne]          don't bind tasks to CPUs (default)
        rank            bind by task rank
        cores, threads  bind each task to CPUs of its own
        map_cpu:<list>  specify a CPU ID binding for each task
        mask_cpu:<list> specify a CPU ID binding mask for each task
`
