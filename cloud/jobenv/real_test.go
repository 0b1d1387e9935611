package jobenv

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
	"fsub/testbed/realjob"
)

func TestMain(m *testing.M) { realjob.Main(m) }

// realCalls are submitted to real Slurm; what its scripts and tasks found is compared with what we make of the same allocation.
var realCalls = []struct {
	args string
	env  string // of sbatch, besides the usual; blanks between
	srun string // "-": no step
	want stepWant
}{
	{args: "", srun: ""},
	{args: "-n1", srun: ""},
	{args: "-N2 --ntasks-per-node=2 -c2 --mem=100 -J nm", srun: ""},
	{args: "-N2 --ntasks-per-node=2 -c2", srun: "-n3", want: stepWant{tasks: []int{2, 1}, cpus: []int{4, 2}}},
	{args: "-N2 --ntasks-per-node=2 -c2", srun: "-N1 -n1", want: stepWant{tasks: []int{1}, cpus: []int{2}}},
	{args: "-N1 --gres=gpu:2 -n2 --mem=100", srun: ""},
	{args: "--gpus=1 --mem-per-gpu=50", srun: ""},
	{args: "-N2 --gpus-per-node=1 --ntasks-per-node=1 -c2 --mem-per-cpu=50", srun: ""},
	{args: "-n2 --gpus-per-task=1 --mem=50", srun: "", want: stepWant{gpuEach: true}},
	{args: "--mem=50 --array=3-3", srun: ""},
	{args: "--exclusive -n1 --mem=50", srun: "", want: stepWant{noGPUs: true}},
	{args: "--exclusive -N2", srun: "", want: stepWant{noGPUs: true, tasks: []int{1, 1}}},
	{args: "-n4 -N2", srun: "-m cyclic", want: stepWant{distribution: "cyclic", ranks: [][]int{{0, 2, 3}, {1}}}},
	{args: "-n2", srun: "-n4 -O", want: stepWant{tasks: []int{4}, env: "SLURM_OVERCOMMIT=1"}},
	{args: "-O -n6", srun: "-"},
	{args: "--ntasks-per-gpu=2 --gpus=3", srun: "-"},
	{args: "--cpus-per-gpu=3 --gpus=2", srun: "-"},
	{args: "--mem=0", srun: "-"},
	{args: "-n1 --licenses=matlab:1 --oom-kill-step=1 -p short", srun: "-"},
	{args: "-n1 --export=NIL", srun: "-"},
	{args: "-n1 --open-mode=append --hint=nomultithread -m block", srun: "-"},
	{args: "-n1 --mem-bind=local -t 5 -A physics", srun: "-"},
	{args: "-n2 --tres-per-task=cpu=2,gres/gpu=1", srun: "-"},
	{args: "-n1", srun: "-", env: "TMPDIR=/var/tmp CUDA_VISIBLE_DEVICES=7 SLURM_ARRAY_TASK_ID=3 SLURM_RESTART_COUNT=2 ENVIRONMENT=x HOSTNAME=q SLURM_MEM_PER_NODE=5 SLURM_GPUS_ON_NODE=8 SLURM_JOB_GPUS=1 SLURM_HET_SIZE=3"},
	{args: "-n1", srun: "-", env: "SLURM_STEP_ID=4 SLURM_SRUN_COMM_PORT=1 SLURMD_NODENAME=q SLURM_UMASK=0077 SLURM_RLIMIT_NOFILE=100 SLURM_STEP_GPUS=1 HOME=/x USER=bob"},
	{args: "-n1 -c2 --open-mode=append --mem-per-cpu=50 : -n2 --mem-per-cpu=60", srun: "-"},
	{args: "-n1 --mem=50 : -n2 --gpus=1", srun: "-"},
}

// stepWant is how srun lays its step out, where that is not as the job has it.
type stepWant struct {
	tasks, cpus  []int
	distribution string
	ranks        [][]int
	gpuEach      bool
	noGPUs       bool
	env          string
}

// unlike are variables that differ between a real site and ours, with the reason.
var unlike = map[string]string{
	"SLURM_CONF":                  "rented machines have no slurm.conf",
	"SLURM_TOPOLOGY_ADDR":         "nor a tree of switches",
	"SLURM_TOPOLOGY_ADDR_PATTERN": "nor a tree of switches",
	"SLURM_TASK_PID":              "a process of its own",
	"SLURM_SRUN_COMM_PORT":        "a port of its own",
	"SLURM_STEP_LAUNCHER_PORT":    "a port of its own",
	"SLURM_SUBMIT_HOST":           "where the command was called",
	"PWD":                         "set by the shell that env -i started",
	"SHLVL":                       "set by shells",
	"_":                           "set by shells",
	"OLDPWD":                      "set by shells",
}

// What the script and the tasks of real Slurm find is what Batch, Step and Task make of the same allocation.
func TestAsRealSlurm(t *testing.T) {
	site := realjob.Open(t)
	for _, c := range realCalls {
		t.Run(c.args+" | "+c.srun, func(t *testing.T) {
			call := realjob.Call{Args: strings.Fields(c.args), Env: strings.Fields(c.env)}
			if c.srun != "-" {
				call.Srun = strings.Fields(c.srun)
				if call.Srun == nil {
					call.Srun = []string{}
				}
			}
			j := site.Run(t, call, 1)
			if j.Refused != "" {
				t.Fatal(j.Refused)
			}
			l := launchOf(t, site, &call, j)
			batch := pairs(Batch(l, Own{PID: 1}))
			compareReal(t, "script", pairs(j.Tasks[0].Env), batch)
			if c.srun == "-" {
				return
			}
			s := stepOf(l, j, c.want)
			env := Step(l, s)
			rank := 0
			for node := range s.Nodes {
				for local := range s.Tasks[node] {
					task := TaskSpec{Node: node, Rank: rank, Local: local, PID: 1}
					task.Ranks = ranksOf(&s, c.want, node)
					task.Rank = task.Ranks[local]
					if g := l.Groups[0].Nodes[node].GPUs; !c.want.noGPUs {
						if task.GPUs, task.NodeGPUs = g, len(g); c.want.gpuEach {
							task.GPUs = g[local : local+1]
						}
					}
					compareReal(t, fmt.Sprintf("rank %d", task.Rank), pairs(j.Steps[task.Rank]), pairs(Task(&s, env, task)))
					rank++
				}
			}
		})
	}
}

func ranksOf(s *StepSpec, w stepWant, node int) (ranks []int) {
	if w.ranks != nil {
		return w.ranks[node]
	}
	first := 0
	for _, n := range s.Tasks[:node] {
		first += n
	}
	for i := range s.Tasks[node] {
		ranks = append(ranks, first+i)
	}
	return ranks
}

// launchOf is what the daemon would tell a machine of the job.
func launchOf(t *testing.T, site *realjob.Site, c *realjob.Call, j *realjob.Job) *agentapi.Launch {
	t.Helper()
	request, err := sbatch.Parse(sbatch.Input{Args: append(slices.Clone(c.Args), "job.sh"), Env: append(site.Env(), c.Env...), Dir: j.Dir, Now: time.Now(), Umask: 0o022,
		Nice: niceness(), Files: script{}})
	if err != nil {
		t.Fatal(err)
	}
	field := func(name string) string { return j.Groups[0].Show[name] }
	start, err := time.ParseInLocation("2006-01-02T15:04:05", field("StartTime"), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	end, err := time.ParseInLocation("2006-01-02T15:04:05", field("EndTime"), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	real := pairs(j.Tasks[0].Env)
	if at, err := strconv.ParseInt(real["SLURM_JOB_START_TIME"], 10, 64); err == nil { // the site's time zone
		end = end.Add(time.Unix(at, 0).Sub(start))
		start = time.Unix(at, 0)
	}
	l := &agentapi.Launch{Job: uint32(j.ID), Cluster: realjob.Name, Account: field("Account"), QOS: field("QOS"), User: agentapi.User{Name: "alice", UID: 7001, GID: 7001},
		Environment: request.Payload.Environment, Start: start, TimeLimit: end.Sub(start)}
	if request.Spec.Array != "" {
		id, _ := strconv.Atoi(field("JobId"))
		task, _ := strconv.Atoi(field("ArrayTaskId"))
		l.Job, l.Array = uint32(id), &agentapi.Array{Job: uint32(j.ID), Task: task, Count: 1, Min: task, Max: task, Step: 1}
	}
	specs := append([]sbatch.Spec{request.Spec}, request.Spec.Het...)
	for i, g := range j.Groups {
		group := agentapi.Group{Job: uint32(g.ID), Spec: specs[i], Partition: g.Show["Partition"]}
		name := "SLURM_TASKS_PER_NODE"
		if len(j.Groups) > 1 {
			name += "_HET_GROUP_" + strconv.Itoa(i)
		}
		tasks := expanded(real[name])
		for k, n := range g.Nodes {
			group.Nodes = append(group.Nodes, agentapi.Node{Name: n.Name, CPUs: n.CPUs, MemMiB: n.Mem, GPUs: n.GPUs, Tasks: tasks[k]})
		}
		l.Groups = append(l.Groups, group)
	}
	return l
}

// stepOf is the step that srun would ask for.
func stepOf(l *agentapi.Launch, j *realjob.Job, w stepWant) StepSpec {
	s := StepSpec{Env: slices.Clone(j.Tasks[0].Env), Distribution: w.distribution, Host: "127.0.0.1", Umask: 0o022, Group: -1}
	if w.env != "" {
		s.Env = append(s.Env, w.env)
	}
	s.Tasks, s.CPUs = w.tasks, w.cpus
	for i, n := range l.Groups[0].Nodes {
		if w.tasks != nil && i >= len(w.tasks) {
			break
		}
		s.Nodes = append(s.Nodes, n.Name)
		if w.tasks == nil {
			s.Tasks = append(s.Tasks, n.Tasks)
			if _, counted := lookup(s.Env, "SLURM_NTASKS"); !counted {
				s.Tasks[i] = 1
			}
		}
		if w.cpus == nil {
			s.CPUs = append(s.CPUs, n.CPUs)
		}
	}
	return s
}

// expanded is "4(x2),1" as numbers.
func expanded(list string) (out []int) {
	for item := range strings.SplitSeq(list, ",") {
		number, times, _ := strings.Cut(strings.TrimSuffix(item, ")"), "(x")
		n, _ := strconv.Atoi(number)
		k, err := strconv.Atoi(times)
		if err != nil {
			k = 1
		}
		for range k {
			out = append(out, n)
		}
	}
	return out
}

func compareReal(t *testing.T, who string, want, got map[string]string) {
	t.Helper()
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, inWant := want[name]
		g, inGot := got[name]
		switch {
		case unlike[name] != "":
		case !inGot:
			t.Errorf("%s: %s=%s is missing", who, name, w)
		case !inWant:
			t.Errorf("%s: %s=%s should not be there", who, name, g)
		case w != g:
			t.Errorf("%s: %s is %q, want %q", who, name, g, w)
		}
	}
}

// niceness is the priority of this process, which the site's sbatch has too.
func niceness() int {
	k, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - k
}

// script is the file that is submitted.
type script struct{}

func (script) Exists(string) bool               { return true }
func (script) Read(string, int) ([]byte, error) { return []byte("#!/bin/bash\n"), nil }
