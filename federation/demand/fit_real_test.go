package demand_test

import (
	"os"
	"strings"
	"testing"

	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/testbed/bed"
	"fsub/testbed/realjob"
)

func TestMain(m *testing.M) { realjob.MainFlat(m) }

// alpha is the site at which the table was written down.
func alpha() bed.Site { return bed.Sites[0] }

// nodesOf are the nodes of a site.
func nodesOf(s bed.Site) []demand.Node {
	nodes := make([]demand.Node, s.Nodes)
	for i, name := range s.NodeNames() {
		nodes[i] = demand.Node{Name: name, CPUs: s.CPUs, Mem: sbatch.MemMiB(s.MemMiB), GPUs: s.GPUs, GPUType: s.GPUType, Threads: 1}
	}
	return nodes
}

// releaseOf is the version of Slurm at a site.
func releaseOf(s bed.Site) sbatch.Release {
	switch s.Suite {
	case "bookworm":
		return sbatch.Slurm2205
	case "forky":
		return sbatch.Slurm2605
	}
	return sbatch.Slurm2411
}

// shapes are calls whose layout real Slurm is asked for.
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
	"-w alpha3 -N2", "-w alpha4 -n20", "-N2-4 -n40", "--cpus-per-gpu=4 --gpus=6",
}

// What Fit gives on idle nodes is what real slurmctld gave.
func TestFitAsSlurm(t *testing.T) {
	site := realjob.Open(t)
	var calls []string
	for i, shape := range shapes {
		if os.Getenv("FSUB_FULL") != "" || i%5 == 0 { // each takes half a second of a real site
			calls = append(calls, strings.NewReplacer("alpha", realjob.Name, "h100", realjob.Config().GPUType).Replace(shape))
		}
	}
	for i, j := range site.Many(t, nil, calls) {
		if j.Crashed { // 24.11.5 does, now and then
			t.Logf("%s: slurmctld ended", calls[i])
			continue
		}
		want, got := outcome(j), planned(realjob.Config(), idle, strings.Fields(calls[i]))
		if strings.HasPrefix(got, "refused") && (strings.HasPrefix(want, "refused") || strings.HasPrefix(want, "waits: Partition")) { // the others let it wait for ever
			continue
		}
		if release := releaseOf(realjob.Config()); want != got && (release == sbatch.Slurm2411 || reason(release, idle, calls[i], want, got) == "") {
			t.Errorf("%s\n real %s\n ours %s", calls[i], want, got)
		}
	}
}
