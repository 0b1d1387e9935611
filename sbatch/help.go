package sbatch

import (
	"strings"

	"fsub/sbatch/getopt"
)

func usageText() string {
	return "Usage: sbatch [OPTIONS...] script [args...]\n" +
		"       sbatch [OPTIONS...] --wrap=command\n" +
		"       sbatch [OPTIONS...] < script\n"
}

// describedOption is an option as --help shows it: what its value is, as sbatch names it, and what it is for.
type describedOption struct{ name, value, help string }

// headings are those under which sbatch lists options, in its order, each with its options in the
// order of the alphabet. Programs look for the words. A test holds that every option of the table
// that is carried is here, with help.
var headings = []struct {
	text    string
	options []describedOption
}{
	{"Parallel run options:", []describedOption{
		{"account", "name", "charge the job to this account"},
		{"acctg-freq", "type=seconds", "how often usage is sampled: task=, energy=, network=, filesystem="},
		{"array", "indexes", "run one task for each index: 0-15, 1,3,5, 0-99:2, 0-999%20 (20 at a time)"},
		{"autocomplete", "prefix", "print the options that begin with prefix"},
		{"batch", "list", "features of the node that runs the script, of those in --constraint"},
		{"bb", "spec", "burst buffer specification"},
		{"bbf", "file", "file with a burst buffer specification"},
		{"begin", "time", "not before this time: HH:MM, YYYY-MM-DDTHH:MM, now+1hour"},
		{"chdir", "directory", "working directory of the script"},
		{"cluster", "names", "same as --clusters"},
		{"clusters", "names", "run at one of these sites"},
		{"comment", "text", "comment, shown with the job"},
		{"container", "path", "OCI bundle of the job's container"},
		{"container-id", "id", "OCI container ID"},
		{"context", "name", "SELinux context"},
		{"core-spec", "cores", "cores per node that are reserved for the system"},
		{"cpu-freq", "min[-max[:gov]]", "CPU frequency, in kHz or by name, and governor"},
		{"cpus-per-task", "n", "CPUs for each task"},
		{"deadline", "time", "remove the job if it cannot end before this time"},
		{"delay-boot", "minutes", "wait so long for nodes with the features before others are rebooted"},
		{"dependency", "type:jobid[:jobid]", "wait for other jobs: after, afterany, afterok, afternotok, aftercorr, singleton"},
		{"distribution", "type", "how tasks are spread over nodes and sockets: block, cyclic, plane=n, arbitrary"},
		{"error", "pattern", "file for standard error"},
		{"export", "ALL|NONE|NIL|names", "environment variables that the job gets"},
		{"export-file", "file|fd", "file of NAME=VALUE, each ended by a null byte, to export"},
		{"extra", "text", "text that is kept with the job"},
		{"get-user-env", "seconds[mode]", "begin with the environment of a login shell"},
		{"gres", "name[:type]:n", "generic resources on each node: gpu:2, gpu:h100:8"},
		{"gres-flags", "flags", "how generic resources are bound to cores: enforce-binding, disable-binding"},
		{"hold", "", "submit the job held"},
		{"ignore-pbs", "", "ignore #PBS and #BSUB lines in the script"},
		{"input", "pattern", "file for standard input"},
		{"job-name", "name", "name of the job"},
		{"kill-on-invalid-dep", "yes|no", "end the job if its dependency can never be met"},
		{"licenses", "name[:n]", "licenses that the job uses"},
		{"mail-type", "type", "mail on these events: BEGIN, END, FAIL, REQUEUE, ALL, TIME_LIMIT_80 and others"},
		{"mail-user", "address", "who gets the mail"},
		{"mcs-label", "label", "label of multi-category security"},
		{"network", "spec", "network or switch resources"},
		{"nice", "n", "lower the priority by n"},
		{"no-kill", "off", "keep the job when one of its nodes fails"},
		{"no-requeue", "", "never requeue the job"},
		{"nodes", "min[-max]", "number of nodes"},
		{"ntasks", "n", "number of tasks"},
		{"ntasks-per-node", "n", "tasks on each node"},
		{"oom-kill-step", "0|1", "end the whole step when one task runs out of memory"},
		{"open-mode", "append|truncate", "how output files are opened"},
		{"output", "pattern", "file for standard output: slurm-%j.out by default"},
		{"overcommit", "", "more than one task for each CPU"},
		{"oversubscribe", "", "share nodes with other jobs"},
		{"parsable", "", "print only the job ID, and the cluster if one was named"},
		{"partition", "names", "run in one of these partitions"},
		{"priority", "n|TOP", "priority of the job (operators)"},
		{"profile", "type", "detailed profile: none, all, or energy, task, lustre, network"},
		{"propagate", "limits", "limits of this shell that the job gets: ALL, NONE or names"},
		{"qos", "name", "quality of service"},
		{"quiet", "", "print errors only"},
		{"reboot", "", "reboot the nodes first (operators)"},
		{"requeue", "", "requeue the job when it is preempted or a node fails"},
		{"segment", "n", "nodes for each block of the topology"},
		{"signal", "[R|B:]sig[@seconds]", "signal before the end: B to the script only, R on preemption of a reservation"},
		{"spread-job", "", "over as many nodes as possible"},
		{"stepmgr", "", "manage steps on the job's first node"},
		{"switches", "n[@time]", "at most n leaf switches, waiting so long for it"},
		{"tasks-per-node", "n", "same as --ntasks-per-node"},
		{"test-only", "", "do not submit; say when the job could start"},
		{"thread-spec", "threads", "threads per node that are reserved for the system"},
		{"time", "limit", "time limit: minutes, MM:SS, HH:MM:SS, D-HH:MM"},
		{"time-min", "limit", "the least time limit, if the job may get less"},
		{"tres-bind", "spec", "how tasks are bound to resources"},
		{"tres-per-task", "list", "resources for each task: cpu=2,gres/gpu:1"},
		{"use-min-nodes", "", "of a range of --nodes prefer the smaller number"},
		{"verbose", "", "show how the options were understood; more with more -v"},
		{"wait", "", "wait for the job's end, and exit as it does"},
		{"wait-all-nodes", "0|1", "begin when all nodes are ready"},
		{"wckey", "key", "workload characterization key"},
		{"wrap", "command", "run this command; there is no script"},
	}},
	{"Constraint options:", []describedOption{
		{"cluster-constraint", "[!]list", "features that the cluster must have, or not"},
		{"constraint", "list", "features that the nodes must have: a&b, a|b, [a*2&b*1]"},
		{"contiguous", "", "neighboring nodes"},
		{"exclude", "nodes", "none of these nodes"},
		{"mem", "size[K|M|G|T]", "memory on each node, in MiB if no unit is given; 0: all"},
		{"mincpus", "n", "CPUs that each node must have"},
		{"nodefile", "file", "file with the names of nodes that the job must have"},
		{"nodelist", "nodes", "nodes that the job must have"},
		{"prefer", "list", "features that the nodes should have, if possible"},
		{"reservation", "names", "run in this reservation"},
		{"tmp", "size[K|M|G|T]", "temporary disk space on each node, in MiB if no unit is given"},
	}},
	{"Consumable resources related options:", []describedOption{
		{"exclusive", "user|mcs|topo", "share no node, or only with jobs of the same user, MCS label, or topology"},
		{"mem-per-cpu", "size[K|M|G|T]", "memory for each CPU, in MiB if no unit is given"},
		{"resv-ports", "n", "reserve communication ports"},
	}},
	{"Affinity/Multi-core options:", []describedOption{
		{"cores-per-socket", "n", "cores that each socket must have"},
		{"extra-node-info", "s[:c[:t]]", "sockets per node, cores per socket and threads per core in one"},
		{"hint", "type", "compute_bound, memory_bound, multithread or nomultithread"},
		{"mem-bind", "type", "bind tasks to memory"},
		{"ntasks-per-core", "n", "tasks on each core"},
		{"ntasks-per-socket", "n", "tasks on each socket"},
		{"sockets-per-node", "n", "sockets that each node must have"},
		{"threads-per-core", "n", "threads that are used of each core"},
	}},
	{"GPU scheduling options:", []describedOption{
		{"cpus-per-gpu", "n", "CPUs for each GPU"},
		{"gpu-bind", "type", "how tasks are bound to GPUs: closest, single:n, map_gpu:list, none"},
		{"gpu-freq", "spec", "frequency and voltage of the GPUs"},
		{"gpus", "[type:]n", "GPUs of the whole job"},
		{"gpus-per-node", "[type:]n", "GPUs on each node"},
		{"gpus-per-socket", "[type:]n", "GPUs on each socket"},
		{"gpus-per-task", "[type:]n", "GPUs for each task"},
		{"mem-per-gpu", "size[K|M|G|T]", "memory for each GPU, in MiB if no unit is given"},
		{"ntasks-per-gpu", "n", "tasks for each GPU"},
		{"ntasks-per-tres", "n", "same as --ntasks-per-gpu"},
	}},
	{"Federation options (in a script: #FSUB --sites=a,b):", []describedOption{
		{"fed-sites", "names", "run at one of these sites"},
		{"fed-exclude-sites", "names", "run at none of these sites"},
		{"fed-accelerators", "type[:factor],...", "types of GPU that will do: h100,a100:2 (twice as many of the second)"},
		{"fed-max-cost", "dollars", "the most that the job may cost"},
		{"fed-deadline-value", "dollars", "what the result is worth in time for the deadline"},
		{"fed-input", "size@place,...", "data that it reads, and where that lies: 500G@alpha,aws:us-east-1"},
		{"fed-checkpoint", "time", "how often it writes a checkpoint: the most that an interruption costs"},
		{"fed-traffic", "kind", "how its nodes talk: collective, none, point-to-point, all-to-all"},
		{"fed-tpu-topology", "AxB[xC]", "shape of the TPU slices that it runs on: 4x4x8"},
		{"fed-stage-in", "from[->to]", "copy to the job's directory first: path, pattern or URL; may be repeated"},
		{"fed-keep", "path,...", "checkpoints: saved while it runs, and there again when it runs again, wherever that is"},
		{"fed-group", "name", "label of jobs that belong together, and of what they submit"},
		{"fed-retry", "N[:exit=CODES,oom,timeout,node]", "run it again, so often at most, after such ends; without a list after each of its own"},
		{"fed-retry-mem", "xFACTOR", "multiply its memory by FACTOR after it ran out of memory"},
		{"fed-retry-time", "xFACTOR", "multiply its time limit by FACTOR after it ran into it"},
		{"fed-on-node-loss", "requeue|wait[:TIME]|shrink", "when a rented node is lost: begin elsewhere, here with another one, or go on without"},
		{"fed-heartbeat", "file", "each node writes the number of its step there: finds the slow node, and a job that hangs"},
		{"fed-pack", "K[:SIDE]", "run K tasks of an array in one job, SIDE of them side by side"},
		{"fed-explain", "", "where it would run, and why not elsewhere; submits nothing"},
		{"fed-key", "text", "the same key again is the same job: for scripts that repeat a submission"},
		{"fed-stage-out", "from[->to]", "copy back when the job has ended; may be repeated"},
		{"fed-stage-out-size", "size", "how much that will be, for what it costs to leave a cloud: 20G"},
	}},
	{"Help options:", []describedOption{
		{"help", "", "show this help"},
		{"usage", "", "show how sbatch is called"},
	}},
	{"Other options:", []describedOption{
		{"version", "", "show the version of Slurm whose sbatch this is"},
	}},
}

// Described are the options of a call by headings, as --help shows them, and the names of those that are known and not carried.
func Described() (groups []getopt.Group, refusedNames []string) {
	known := map[string]*option{}
	for i := range options {
		o := &options[i]
		switch {
		case !o.in(Following):
		case o.class == refused:
			refusedNames = append(refusedNames, o.name)
		default:
			known[o.name] = o
		}
	}
	for _, h := range headings {
		g := getopt.Group{Title: strings.TrimSuffix(h.text, ":")}
		for _, d := range h.options {
			o := known[d.name]
			if o == nil {
				o = fedOption(d)
			}
			g.Options = append(g.Options, getopt.Described{Option: getopt.Option{Name: o.name, Short: o.short, Arg: o.arg}, Also: otherNames[d.name],
				Value: d.value, Env: o.env, Help: d.help})
		}
		groups = append(groups, g)
	}
	return groups, refusedNames
}

// otherNames are the short names of two of the federation's options.
var otherNames = map[string][]getopt.Option{"fed-group": {{Name: "group"}}, "fed-explain": {{Name: "explain"}}}

// fedOption is one of the federation's own options as a row of the table.
func fedOption(d describedOption) *option {
	o := &option{name: d.name}
	if d.value != "" {
		o.arg = getopt.RequiredArg
	}
	if d.name != "fed-key" && d.name != "fed-explain" {
		o.env = strings.ReplaceAll("FSUB_"+strings.ToUpper(d.name[len("fed-"):]), "-", "_")
	}
	return o
}

// helpText lists the options: first those that are carried to a site, by headings, then those that are refused.
func helpText() string {
	groups, not := Described()
	var b strings.Builder
	b.WriteString(usageText())
	b.WriteString("\nsubmits a batch script to the federation, under the rules of Slurm's sbatch.\n")
	for i := range groups {
		b.WriteString(groups[i].HelpText())
	}
	b.WriteString("\nKnown and not carried:\n")
	b.WriteString(getopt.Wrapped("  ", "  ", "--"+strings.Join(not, " --")))
	return b.String()
}
