package golden

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exception is a line, or several, that may differ from real Slurm's, and how. What is not named must be equal.
type exception struct {
	cmds []string // command lines as recorded
	why  string
	rc   bool     // the exit code differs
	out  bool     // stdout differs altogether
	err  bool     // stderr differs altogether
	cut  string   // regexp: what it matches is taken out of stdout and stderr of both sides
	keys []string // of JSON: paths below which values differ, "*" at the end for all that begin so
}

// exceptions is the whole list. A line is in it at most once.
var exceptions = []exception{
	{cmds: []string{"scancel 6_1 --signal USR2"}, rc: true, err: true, out: true,
		why: "real scancel tries again for 95 seconds where the batch script has no steps, and then fails; ours signals at once"},
	{cmds: []string{"scancel 1.99"}, rc: true, err: true,
		why: "from outside of a job at a Slurm cluster its steps cannot be reached, whether they are there or not: the REST API takes a step's number for its job's"},
	{cmds: []string{`squeue --all --noheader --format=%j\ %y\ %Q\ %T\ %r`}, cut: `33333|\b1\b`,
		why: "all tasks of an array of ours have one priority, also after some have started"},
	{cmds: []string{"scontrol --json show job 1", "scontrol show job 1 --json"},
		keys: []string{".jobs[].association_id", ".jobs[].flags", ".jobs[].thread_spec", ".jobs[].job_resources.select_type*", ".jobs[].job_resources.nodes.select_type*",
			".jobs[].job_resources.nodes.allocation[].sockets", ".jobs[].last_sched_evaluation.number", ".last_backfill.number", ".last_update.number"},
		why: "slurmctld's own numbers and flags, and which cores of a node a job has"},
	{cmds: []string{"scontrol show config"}, out: true,
		why: "settings are the federation's own; the API's tests hold the keys that programs look for"},
	{cmds: []string{"scontrol show partition", "scontrol show part -o", "scontrol -a show -o partitions", "scontrol show partitions -o"},
		cut: `,license/matlab=10`, why: "the TRES of a partition of ours leave out licenses, which belong to no partition"},
	{cmds: []string{"scontrol show job", "scontrol show -o job", "scontrol show job 6"},
		cut: `Scheduler=\w+|AccrueTime=\S+|EligibleTime=\S+|NumTasks=\S+|Priority=\d+|LastSchedEval=\S+`,
		why: "when a job was looked at, and by which of slurmctld's schedulers, is slurmctld's own; priorities of array tasks as in squeue"},
	{cmds: []string{"squeue --noheader --only-job-state -o '%i %t' -t all -u alice"}, out: true,
		why: "real squeue lists nothing where --only-job-state meets --user, as the states alone tell no user; ours selects by both"},
	{cmds: []string{"squeue --json -j 1", "squeue --json -j 9"},
		keys: []string{".jobs[].association_id", ".jobs[].flags", ".jobs[].thread_spec", ".jobs[].job_resources.select_type[]",
			".jobs[].job_resources.nodes.select_type[]", ".jobs[].job_resources.nodes.allocation[].sockets", ".jobs[].last_sched_evaluation.number",
			".last_backfill.number", ".meta.plugin.*", ".meta.command"},
		why: "which cores a job has, how its site came to place it and what its number in the accounting is are the site's own; the rest is who answered"},
	{cmds: []string{"sinfo --version", "scontrol --version", "sbatch --version"}, cut: `slurm(-wlm)?`,
		why: "Debian's build calls itself slurm-wlm; every other one, and ours, slurm"},
}

// apply takes out of one side what may differ.
func (e *exception) apply(a answer) answer {
	if e.rc {
		a.rc = ""
	}
	if e.out {
		a.stdout = ""
	}
	if e.err {
		a.stderr = ""
	}
	if e.cut != "" {
		cut := regexp.MustCompile(e.cut)
		a.stdout, a.stderr = cut.ReplaceAllString(a.stdout, ""), cut.ReplaceAllString(a.stderr, "")
	}
	return a
}

func (e *exception) skipsKey(path string) bool {
	return slices.ContainsFunc(e.keys, func(k string) bool {
		head, open := strings.CutSuffix(k, "*")
		return path == k || open && strings.HasPrefix(path, head)
	})
}

// exceptionsByLine finds the exception of each command line, and refuses what was never recorded, or is listed twice.
func exceptionsByLine(t *testing.T, lines []line) map[string]*exception {
	out := map[string]*exception{}
	for i := range exceptions {
		for _, cmd := range exceptions[i].cmds {
			if !slices.ContainsFunc(lines, func(l line) bool { return l.Cmd == cmd }) || out[cmd] != nil {
				t.Errorf("exception %q: no such recorded line, or twice", cmd)
			}
			out[cmd] = &exceptions[i]
		}
	}
	for _, cmd := range pending {
		if !slices.ContainsFunc(lines, func(l line) bool { return l.Cmd == cmd }) {
			t.Errorf("pending %q: no such recorded line", cmd)
		}
	}
	return out
}
