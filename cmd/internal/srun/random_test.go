package srun

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/slurm/hostlist"
	"fsub/testbed/bed"
)

var (
	record = flag.String("record", "", "write down in this file what real srun did with random steps")
	ask    = flag.String("ask", "", "options of srun to try in each job instead of random ones, with semicolons between")
	shape  = flag.String("shape", "", "options of the only job to try steps in")
	many   = flag.Int("many", 60, "random steps in each job")
)

// shapes are jobs that random steps are tried in.
var shapes = []string{
	"-N1 -n4", "-N2 -n6 --gpus-per-node=2", "-N3 -n10 -c2", "-N4 --ntasks-per-node=3", "-N4 --exclusive --gpus-per-node=4", "-N2 -n4 -c5 --gpus-per-node=4", "-N4 -n7",
	"-N2 --exclusive", "-n5 --gpus-per-task=1", "-N3 -n9 --mem-per-cpu=500", "-N2 -n4 -m cyclic --gres=gpu:2 --mem=3000", "-N1 -n8 --gpus=3", "-N2 -n10 --gpus=6",
}

// TestRecordSteps asks real srun, in one job for each shape.
func TestRecordSteps(t *testing.T) {
	if *record == "" {
		t.Skip("SKIPPED: it writes down what real srun does for who says -record FILE")
	}
	f, err := os.OpenFile(*record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := realSite(t)
	for job, calls := range randomSteps(uint64(time.Now().UnixNano())) {
		for _, line := range realSteps(t, b, job, calls) {
			fmt.Fprintln(f, line)
		}
	}
}

// randomSteps are the steps to try, by the options of their job.
func randomSteps(seed uint64) map[string][]string {
	r := rand.New(rand.NewPCG(seed, 0))
	jobs := shapes
	if *shape != "" {
		jobs = []string{*shape}
	}
	all := map[string][]string{}
	for _, job := range jobs {
		if *ask != "" {
			all[job] = strings.Split(*ask, "; ")
			continue
		}
		for range *many {
			all[job] = append(all[job], anyStep(r, job))
		}
	}
	return all
}

// anyStep is a command line of srun; a first word "@n1,n2" is what the file of SLURM_HOSTFILE lists.
func anyStep(r *rand.Rand, job string) string {
	var args []string
	one := func(of int) bool { return r.IntN(of) == 0 }
	add := func(format string, n ...any) { args = append(args, fmt.Sprintf(format, n...)) }
	nodes := 1
	if _, after, ok := strings.Cut(job, "-N"); ok {
		nodes, _ = strconv.Atoi(after[:1])
	}
	name := func() string { return fmt.Sprint("n", 1+r.IntN(nodes)) }
	if one(12) {
		hosts := name()
		for range r.IntN(5) {
			hosts += "," + name()
		}
		add("@%s", hosts)
		if !one(6) {
			add("-m arbitrary")
		}
	}
	switch r.IntN(8) {
	case 0, 1:
		add("-N%d", 1+r.IntN(nodes))
	case 2:
		least := 1 + r.IntN(nodes)
		add("-N%d-%d", least, least+r.IntN(4))
	}
	if one(2) {
		add("-n%d", 1+r.IntN(5*nodes))
	}
	if one(6) {
		add("-c%d", 1+r.IntN(3))
	}
	switch r.IntN(16) {
	case 0:
		add("-w %s", name())
	case 1:
		add("-x %s", name())
	case 2:
		add("-r%d", r.IntN(nodes))
	}
	if one(7) {
		add("--ntasks-per-node=%d", 1+r.IntN(4))
	}
	if one(3) {
		add("-m %s", [...]string{"block", "cyclic", "plane=2", "plane=3", "block:cyclic", "cyclic:cyclic", "block:block", "*", "block,pack", "block,nopack", "*:fcyclic", "cyclic:block"}[r.IntN(12)])
	}
	kind := r.IntN(10)
	if !strings.Contains(job, "gpu") && !one(5) {
		kind = -1
	}
	switch kind {
	case 0:
		add("--gpus=%d", 1+r.IntN(5))
	case 1:
		add("--gpus-per-task=%d", 1+r.IntN(2))
	case 2:
		add("--gpus-per-node=%d", 1+r.IntN(3))
	case 3:
		add("--gres=%s", [...]string{"gpu:1", "gpu:2", "none", "gpu:0", "gpu:h100:1"}[r.IntN(5)])
	case 4:
		if one(2) {
			add("--ntasks-per-gpu=%d", 1+r.IntN(2))
		} else {
			add("--cpus-per-gpu=%d", 1+r.IntN(3))
		}
	}
	switch r.IntN(12) {
	case 0:
		add("--mem=%d", r.IntN(6)*800)
	case 1:
		add("--mem-per-cpu=%d", 100+r.IntN(1500))
	}
	for _, o := range []string{"--exact", "--overlap", "-K", "-O", "--exclusive"} {
		if one(10) {
			add("%s", o)
		}
	}
	return strings.Join(args, " ")
}

// stepsJob runs one step after the other. One that is not started soon never is.
const stepsJob = `#!/bin/bash
set -f
env >environment
scontrol show job -d "$SLURM_JOB_ID" >job
cat >task <<'TASK'
echo "$SLURM_PROCID $SLURMD_NODENAME $SLURM_LOCALID $SLURM_CPUS_ON_NODE ${CUDA_VISIBLE_DEVICES:--} ${SLURM_CPUS_PER_TASK:--} ${SLURM_DISTRIBUTION:--} $SLURM_NTASKS $SLURM_STEP_NUM_NODES $SLURM_STEP_TASKS_PER_NODE"
TASK
n=0
while IFS= read -r call <&3; do
	n=$((n+1)) hosts=()
	case $call in
	@*)
		hosts=("SLURM_HOSTFILE=$PWD/$n.hosts")
		line=${call%% *}
		tr , '\n' <<<"${line#@}" >"$n.hosts"
		call=${call#"$line"}
	esac
	env "${hosts[@]}" timeout -k 2 "$WAIT" srun $call bash "$PWD/task" >"$n.out" 2>"$n.errs" </dev/null
	echo $? >"$n.code"
	sleep 0.1 # a node whose step has just ended comes after others
done 3<calls
touch over
`

// realSteps asks the real srun (24.11): the line of a job, then those of its steps.
func realSteps(t *testing.T, b *bed.Bed, job string, calls []string) (lines []string) {
	alice, err := bed.FindUser("alice")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(b.Home("alice"), "steps-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chown(dir, alice.UID, alice.UID)
	text := strings.Join(calls, "\n") + "\n"
	ours := regexp.MustCompile(`\balpha(\d|\[)`)
	for file, text := range map[string]string{"calls": regexp.MustCompile(`(?m)(^|[ ,@])n(\d)`).ReplaceAllString(text, "${1}alpha$2"), "job.sh": strings.Replace(stepsJob, "$WAIT", "2", 1)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	args := append([]string{"sbatch", "-t30", "-o", "log"}, strings.Fields(job)...)
	if err := b.Exec(t.Context(), bed.Cmd{Site: "alpha", User: "alice", Dir: dir, Stdout: &said, Stderr: &said, Args: append(args, "job.sh")}); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	for { // sbatch --wait asks at ever longer intervals
		if _, err := os.Stat(filepath.Join(dir, "over")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return ours.ReplaceAllString(string(text), "n$1")
	}
	lines = []string{"job\t" + job + "\t" + jobNodes(t, read("job")) + "\t" + jobEnv(read("environment"))}
	for i, call := range calls {
		n := strconv.Itoa(i + 1)
		id := regexp.MustCompile(`JobId=(\d+)`).FindStringSubmatch(read("job"))[1]
		lines = append(lines, "step\t"+call+"\t"+realStep(strings.TrimSpace(read(n+".code")), read(n+".out"), strings.ReplaceAll(read(n+".errs"), id, "JOB")))
	}
	return lines
}

// jobNodes are the job's nodes as scontrol shows them: "n1:8/8000/2" is CPUs, MiB and GPUs.
func jobNodes(t *testing.T, show string) string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^ *Nodes=(\S+) CPU_IDs=(\S+) Mem=(\d+) GRES=(\S*)`).FindAllStringSubmatch(show, -1) {
		names, err := hostlist.Expand(m[1])
		if err != nil {
			t.Fatal(err)
		}
		cpus, _ := hostlist.Expand("n[" + m[2] + "]")
		gpus := 0
		if g := regexp.MustCompile(`gpu:h100:(\d+)`).FindStringSubmatch(m[4]); g != nil {
			gpus, _ = strconv.Atoi(g[1])
		}
		for _, name := range names {
			all = append(all, fmt.Sprintf("%s:%d/%s/%d", name, len(cpus), m[3], gpus))
		}
	}
	return strings.Join(all, " ")
}

// jobEnv is what srun reads of the batch script's environment.
func jobEnv(text string) string {
	names := []string{"SLURM_HET_SIZE", "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_TASK", "SLURM_HOSTFILE", "SLURM_CPUS_PER_GPU", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_TRES", "SLURM_TRES_PER_TASK"}
	for i := range options {
		names = append(names, options[i].env...)
	}
	var kept []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "=")
		name, _, _ = strings.Cut(name, "_HET_GROUP_")
		if slices.Contains(names, name) && !slices.Contains([]string{"SLURM_WORKING_DIR", "SLURM_EXPORT_ENV"}, name) {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, " ")
}

// realStep is the outcome of a step, as [ourStep] writes it.
func realStep(code, out, errs string) string {
	var said []string
	for line := range strings.Lines(errs) {
		if strings.Contains(line, "step creation temporarily disabled") || strings.Contains(line, "srun: Step created for") || strings.HasPrefix(line, "slurmstepd") {
			continue
		}
		said = append(said, strings.TrimSpace(line))
	}
	text := strings.Join(said, "|")
	if code == "124" && out == "" {
		return "waits\t"
	}
	if out == "" {
		return code + "\t" + text
	}
	o := outlay{nodes: map[string]string{}}
	gpus := map[string]map[string]bool{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		o.tasks = append(o.tasks, [2]string{f[0], strings.TrimPrefix(f[1], "n")})
		if gpus[f[1]] == nil {
			gpus[f[1]] = map[string]bool{}
		}
		if f[4] != "-" {
			for g := range strings.SplitSeq(f[4], ",") {
				gpus[f[1]][g] = true
			}
		}
		o.nodes[f[1]] = fmt.Sprintf("%s/%d", f[3], len(gpus[f[1]]))
		o.perTask, o.distribution = f[5], f[6]
	}
	return code + " " + o.String() + "\t" + text
}
