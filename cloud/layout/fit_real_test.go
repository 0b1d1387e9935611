package layout_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/cloud/layout"
	"fsub/sbatch"
	"fsub/testbed/realjob"
)

func TestMain(m *testing.M) { realjob.Main(m) }

// real are the nodes of realjob's site.
func real() []layout.Node {
	nodes := make([]layout.Node, 4)
	for i := range nodes {
		nodes[i] = layout.Node{Name: fmt.Sprintf("%s%d", realjob.Name, i+1), CPUs: 16, Mem: 64000, GPUs: 4, GPUType: "h100"}
	}
	return nodes
}

// shapes are calls whose layout real Slurm is asked for. What follows "!" is the reason why ours is another one.
var shapes = []string{
	"", "-n1", "-N2", "-n20", "-n5 -N2", "-n7 -N3", "-n33 -N3", "-c3", "-c20", "-n8 -c3", "-n8 -c5", "-N2 -c10", "-N2-4 -n10", "-N1-4", "-N2-4",
	"-N2-4 -n3", "-N1-4 -n2", "-N 1,2,4", "-N 2,4 -n9", "-N2-4 -c4", "-N2-3 --gres=gpu:1", "-N1-4 --gpus=6",
	"--ntasks-per-node=4", "-n8 --ntasks-per-node=4", "-n10 --ntasks-per-node=4", "-N2 --ntasks-per-node=3 -c2", "-n6 --ntasks-per-node=3 -N3",
	"-N2-4 --ntasks-per-node=2", "-N2-4 --ntasks-per-node=2 -n6", "-n5 --ntasks-per-node=2", "-n5 --ntasks-per-node=4 -N2", "-n9 --ntasks-per-node=8", "-n4 --ntasks-per-node=6",
	"--mem=0", "--mem=0 -N2", "--mem=1000 -n20", "--mem-per-cpu=10000 -n4", "--mem-per-cpu=10000 -n8", "--mem-per-cpu=10000 -n4 -c2", "--mem=63000 -n3", "--mem=70000", "--mem-per-cpu=40000 -n3",
	"--exclusive", "--exclusive -c2", "--exclusive -N2 -c3", "--exclusive -n20", "--exclusive -n3 -c2 --mem=10", "--exclusive -n10 -N3", "--exclusive --ntasks-per-node=4 -N2", "--exclusive --mem=0",
	"--exclusive --mem-per-cpu=5000 -n1", "--exclusive --mem-per-cpu=3000 -n1", "--gpus=2 --exclusive", "--gpus-per-task=1 -n2 --exclusive",
	"--gres=gpu:2", "--gres=gpu:2 -n20", "--gres=gpu:h100:1 -N2 -n6", "--gres=gpu:0", "--gres=gpu:5", "--gpus=3", "--gpus=6", "--gpus=16", "--gpus=17", "--gpus=h100:3", "--gpus=5 -n3", "--gpus=6 -N2",
	"--gpus=8 -N4", "--gpus=4 -N3", "--gpus=6 -n2", "--gpus=6 -n10", "--gpus=6 -n40", "--gpus=9 -n3 -N3", "--gpus-per-node=2", "--gpus-per-node=2 -N2", "--gpus-per-node=2 -n20",
	"--gpus-per-node=2 --gpus=6 -n12", "--gpus=4 --gpus-per-node=2", "--gpus-per-task=1 -n3", "--gpus-per-task=1 -n6", "--gpus-per-task=2 -n6", "--gpus-per-task=1 -n6 -c4", "--gpus-per-task=3 -n3",
	"--gpus=6 --gpus-per-task=2", "--gpus-per-task=1 --gpus=5", "--gpus-per-task=1 -N2", "--gpus-per-task=1 -N2 --ntasks-per-node=2", "--gpus-per-task=1 -N2 -n5", "--gpus-per-task=2 --gpus-per-node=4 -n6",
	"--gpus=4 --ntasks-per-node=2 -N2", "--gpus=2 --mem-per-gpu=1000", "--gpus=6 --mem-per-gpu=30000", "--mem-per-gpu=20000 --gpus-per-node=2 -N2", "--mem-per-gpu=20000 --gres=gpu:2",
	"--ntasks-per-gpu=2 --gpus=3", "--ntasks-per-gpu=2 -n6", "--ntasks-per-gpu=1 --gpus=6", "--ntasks-per-gpu=2 --gpus-per-node=2 -N2", "--ntasks-per-gpu=1 --gres=gpu:2", "--cpus-per-gpu=3 --gpus=2",
	"--cpus-per-gpu=2 --gres=gpu:2 -N2", "--cpus-per-gpu=20 --gpus=1", "-n4 --overcommit", "-n40 -O", "-n40 -O -N2", "-n3 -O -N2", "-N2 --mincpus=4", "-n2 --mincpus=4",
	"-w alpha3", "-w alpha[2-3] -n5", "-w alpha[2-3] -n20", "-x alpha1", "-n20 -x alpha[1-2]", "-w alpha[1,3] -N3 -n5", "-w alpha3 -x alpha3", "-N9", "-N1 -n17",
	"--threads-per-core=1 -n3", "--hint=nomultithread -n3", "-N4 -n40", "-N4 -n50", "-N4 -n21 -c2", "-N2 -n5 -m cyclic", "-w alpha[1,3] -n3",
	"-w alpha3 -N2 ! slurmctld takes the neighbour, Fit the first",
	"-w alpha4 -n20 ! slurmctld takes the neighbour, Fit the first",
	"-N2-4 -n40 ! of nodes that need not be slurmctld gives the first one less than it could",
	"--cpus-per-gpu=4 --gpus=6 ! slurmctld gives the second node as many CPUs as the first, whose GPUs are more",
}

// What Fit gives on idle nodes is what real slurmctld gave.
func TestFitAsSlurm(t *testing.T) {
	site := realjob.Open(t)
	full := os.Getenv("FSUB_FULL") != ""
	for i, shape := range shapes {
		if !full && i%3 != 0 { // each takes a second of a real site
			continue
		}
		args, why, except := strings.Cut(shape, " ! ")
		t.Run(args, func(t *testing.T) { compareFit(t, site, strings.Fields(args), except, why) })
	}
	if !full { // slurmctld has oddities that nobody has listed: what is compared each time is what was seen to be equal
		return
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		args := randomShape(random)
		t.Run("seed "+strconv.FormatUint(seed, 10)+" "+strings.Join(args, " "), func(t *testing.T) { compareFit(t, site, args, false, "") })
	}
}

// randomShape is a call of sbatch, within what shapes shows that slurmctld does without oddities.
func randomShape(r *rand.Rand) []string {
	var args []string
	add := func(format string, n int) { args = append(args, fmt.Sprintf(format, n)) }
	nodes := r.IntN(4)
	if nodes > 0 {
		add("-N%d", nodes)
	}
	switch r.IntN(4) {
	case 0:
		add("-n%d", max(1, nodes)+r.IntN(20))
	case 1:
		add("--ntasks-per-node=%d", 1+r.IntN(6))
	case 2:
		add("-n%d", max(1, nodes)+r.IntN(6))
	}
	if r.IntN(3) == 0 {
		add("-c%d", 1+r.IntN(4))
	}
	switch r.IntN(5) {
	case 0:
		add("--mem=%d", 1+r.IntN(64000))
	case 1:
		add("--mem-per-cpu=%d", 1+r.IntN(8000))
	}
	switch r.IntN(5) {
	case 0:
		add("--gres=gpu:%d", r.IntN(5))
	case 1:
		add("--gpus-per-node=%d", 1+r.IntN(4))
	case 2:
		add("--gpus=%d", max(1, nodes)+r.IntN(6))
	}
	if r.IntN(6) == 0 {
		args = append(args, "--exclusive")
	}
	return args
}

func compareFit(t *testing.T, site *realjob.Site, args []string, except bool, why string) {
	j := site.Run(t, realjob.Call{Args: args}, 1)
	want := "refused"
	if j.Refused == "" {
		want = described(j)
	}
	got := "refused"
	spec, err := parse(args)
	if err == nil {
		var shares []layout.Share
		if shares, err = layout.Fit(spec, real(), layout.Options{DefMemPerCPU: 1000}); err == nil {
			got = describe(real(), shares)
		}
	}
	switch {
	case got != want && !except:
		t.Errorf("slurmctld gave\n%s\nFit gave (%v)\n%s\n%s", want, err, got, j.Refused)
	case got == want && except:
		t.Errorf("this is said to be another one than slurmctld's (%s), but is the same: %s", why, got)
	}
}

// parse is what our sbatch understands of the arguments.
func parse(args []string) (*sbatch.Spec, error) {
	r, err := sbatch.Parse(sbatch.Input{Args: append(append([]string{}, args...), "--wrap", "true"), Dir: "/", Now: time.Now()})
	if err != nil {
		var exit *sbatch.Exit
		if errors.As(err, &exit) {
			return nil, exit
		}
		return nil, err
	}
	return &r.Spec, nil
}

func described(j *realjob.Job) string {
	var b strings.Builder
	for _, n := range j.Groups[0].Nodes {
		fmt.Fprintf(&b, "%s cpus=%d mem=%d gpus=%d\n", n.Name, n.CPUs, n.Mem, len(n.GPUs))
	}
	for _, v := range j.Tasks[0].Env {
		if tasks, ok := strings.CutPrefix(v, "SLURM_TASKS_PER_NODE="); ok {
			b.WriteString("tasks " + tasks)
		}
	}
	return b.String()
}

func describe(nodes []layout.Node, shares []layout.Share) string {
	var b, tasks strings.Builder
	for i := 0; i < len(shares); {
		same := i
		for same < len(shares) && shares[same].Tasks == shares[i].Tasks {
			same++
		}
		if i > 0 {
			tasks.WriteString(",")
		}
		tasks.WriteString(strconv.Itoa(shares[i].Tasks))
		if same-i > 1 {
			fmt.Fprintf(&tasks, "(x%d)", same-i)
		}
		i = same
	}
	for _, s := range shares {
		fmt.Fprintf(&b, "%s cpus=%d mem=%d gpus=%d\n", nodes[s.Node].Name, s.CPUs, s.Mem, s.GPUs)
	}
	return b.String() + "tasks " + tasks.String()
}
