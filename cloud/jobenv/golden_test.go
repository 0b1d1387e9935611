package jobenv

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentapi"
	"fsub/sbatch"
)

// recorded are the ten jobs of env24.txt: how they were submitted, and what they got.
var recorded = map[string]struct {
	args   string
	groups []agentapi.Group
	job    uint32
	name   string
	limit  time.Duration
	array  *agentapi.Array
	pid    int
}{
	"plain": {"--mem-per-cpu=100 --time=10", one(nodes("chk1", 1, nil)), 1155, "wrap", 10 * time.Minute, nil, 9221},
	"n1":    {"-n1 --mem-per-cpu=100 --time=10", one(nodes("chk1", 1, nil)), 1156, "wrap", 10 * time.Minute, nil, 9185},
	"n4":    {"-N2 --ntasks-per-node=2 -n4 -c2 --mem=100 -J nm", one(append(nodes("chk1", 4, nil, 2), nodes("chk2", 4, nil, 2)...)), 1157, "nm", 5 * time.Minute, nil, 9233},
	"gpu":   {"-N1 --gres=gpu:2 -n2 --mem=100", one(nodes("chk1", 2, []int{0, 1}, 2)), 1158, "wrap", 5 * time.Minute, nil, 9194},
	"gpus":  {"--gpus=1 --mem-per-gpu=50", one(nodes("chk1", 1, []int{3})), 1161, "wrap", 5 * time.Minute, nil, 9281},
	"gpn": {"-N2 --gpus-per-node=1 --ntasks-per-node=1 -n2 -c2 --mem-per-cpu=50", one(append(nodes("chk1", 2, []int{2}), nodes("chk2", 2, []int{0})...)), 1159, "wrap", 5 * time.Minute,
		nil, 9225},
	"gpt":  {"-n2 --gpus-per-task=1 --mem=50", one(nodes("chk2", 2, []int{1, 2}, 2)), 1160, "wrap", 5 * time.Minute, nil, 9171},
	"arr":  {"--mem=50 --array=3-7:2", one(nodes("chk1", 1, nil)), 1162, "wrap", 5 * time.Minute, &agentapi.Array{Job: 1162, Task: 7, Count: 3, Min: 3, Max: 7, Step: 2}, 9700},
	"excl": {"--exclusive -n1 --threads-per-core=1 --mem=50", one(nodes("chk3", 16, []int{0, 1, 2, 3})), 1163, "wrap", 5 * time.Minute, nil, 9195},
	"het": {"-n1 --mem=50 : -n2 --mem=60", []agentapi.Group{{Job: 1164, Partition: "main", Nodes: nodes("chk4", 1, nil)}, {Job: 1165, Partition: "main", Nodes: nodes("chk1", 2, nil, 2)}},
		1164, "wrap", 5 * time.Minute, nil, 9000},
}

func one(n []agentapi.Node) []agentapi.Group { return []agentapi.Group{{Partition: "main", Nodes: n}} }

func nodes(name string, cpus int, gpus []int, tasks ...int) []agentapi.Node {
	t := 1
	if len(tasks) > 0 {
		t = tasks[0]
	}
	return []agentapi.Node{{Name: name, CPUs: cpus, GPUs: gpus, Tasks: t}}
}

// What 24.11 was recorded to give to ten jobs is what Batch gives to them, name by name and value by value.
func TestRecordedBatch(t *testing.T) {
	dir := os.Getenv("FSUB_ORACLE")
	if dir == "" {
		t.Skip("SKIPPED: FSUB_ORACLE does not name the folder of cli_golden")
	}
	text, err := os.ReadFile(filepath.Join(dir, "cli_golden", "env24.txt"))
	if err != nil {
		t.Fatal(err)
	}
	shape := regexp.MustCompile(`(?s)##### \S*/env_(\w+)\.txt\n== batch\n(.*?)== srun`)
	for _, m := range shape.FindAllStringSubmatch(string(text), -1) {
		c, known := recorded[m[1]]
		if !known {
			t.Errorf("%s is recorded, and not tested", m[1])
			continue
		}
		t.Run(m[1], func(t *testing.T) {
			want := pairs(strings.Split(strings.TrimSpace(m[2]), "\n"))
			request, err := sbatch.Parse(sbatch.Input{Args: strings.Fields(c.args + " --wrap true -J " + c.name), Dir: "/tmp/alice", Host: "chk-ctl", Env: []string{"A=1"}, Now: time.Now()})
			if strings.Contains(c.args, " : ") {
				request, err = sbatch.Parse(sbatch.Input{Args: strings.Fields(strings.Replace(c.args, " : ", " -J wrap : ", 1) + " -J wrap --wrap true"), Dir: "/tmp/alice", Host: "chk-ctl", Now: time.Now()})
			}
			if err != nil {
				t.Fatal(err)
			}
			specs := append([]sbatch.Spec{request.Spec}, request.Spec.Het...)
			for i := range c.groups {
				c.groups[i].Spec = specs[i]
			}
			start := time.Unix(1795196521, 0)
			if m[1] == "arr" {
				start = time.Unix(1795196525, 0)
			}
			l := &agentapi.Launch{Job: c.job, Array: c.array, Cluster: "chk", Account: "research", QOS: "normal", Groups: c.groups, Start: start, TimeLimit: c.limit,
				User: agentapi.User{Name: "alice", UID: 7001, GID: 7001}, Environment: request.Payload.Environment}
			comparePairs(t, want, pairs(Batch(l, Own{PID: c.pid})), m[1])
		})
	}
}

// different are variables of which a rented machine has none, or another value, with the reason.
var different = map[string]string{
	"SLURM_CONF":                  "rented machines have no slurm.conf",
	"SLURM_TOPOLOGY_ADDR":         "nor a tree of switches",
	"SLURM_TOPOLOGY_ADDR_PATTERN": "nor a tree of switches",
	"ZE_AFFINITY_MASK":            "was not kept by the recording; 24.11.5 sets it",
}

func comparePairs(t *testing.T, want, got map[string]string, shape string) {
	t.Helper()
	for name, w := range want {
		if g, there := got[name]; different[name] == "" && (!there || g != w) {
			t.Errorf("%s: %q, want %q (there: %v)", name, g, w, there)
		}
	}
	told := regexp.MustCompile(`^(SLURM|CUDA_VISIBLE|GPU_DEVICE|ROCR_VISIBLE|ENVIRONMENT$|TMPDIR$|HOSTNAME$)`)
	for name, g := range got {
		leftOut := shape == "het" && slices.Contains([]string{"ENVIRONMENT", "TMPDIR", "HOSTNAME"}, name) // of that shape only SLURM_* was kept
		if _, there := want[name]; !there && told.MatchString(name) && different[name] == "" && !leftOut {
			t.Errorf("%s=%s is there, and was not recorded", name, g)
		}
	}
}

func pairs(env []string) map[string]string {
	m := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		m[name] = value
	}
	return m
}
