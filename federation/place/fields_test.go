package place

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"fsub/federation/demand"
	"fsub/sbatch"
)

// Every field of a demand changes what a job takes of a pool, by such a call, or is read elsewhere.
var (
	byCall = map[string]struct{ base, with string }{
		"MinNodes":     {"", "-N2"},
		"MaxNodes":     {"-n8", "-N1-2 -n8"},
		"NodeSizes":    {"-N1-4 -n40", "-N2,4 -n40"},
		"Tasks":        {"", "-n4"},
		"TasksPerNode": {"-n8", "-n8 --ntasks-per-node=2"},
		"TasksPerGPU":  {"--gpus=2", "--gpus=2 --ntasks-per-gpu=2"},
		"CPUsPerTask":  {"", "-c3"},
		"CPUsPerGPU":   {"--gpus=2", "--gpus=2 --cpus-per-gpu=3"},
		"MinCPUs":      {"", "--mincpus=64"},
		"Memory":       {"", "--mem=1G"},
		"TmpDisk":      {"", "--tmp=500G"},
		"GRES":         {"", "--gres=gpu:2"},
		"Sockets":      {"", "--sockets-per-node=2"},
		"Cores":        {"", "--cores-per-socket=32"},
		"Threads":      {"", "--threads-per-core=2"},
		"Overcommit":   {"-n40", "-n40 -O"},
		"Whole":        {"", "--exclusive"},
		"Switches":     {"", "--switches=1"},
		"Segment":      {"-N4", "-N4 --segment=2"},
		"Contiguous":   {"-N2", "-N2 --contiguous"},
		"Alone":        {"", "--exclusive=topo"},
		"NodeList":     {"", "-w alpha[1-2]"},
	}
	elsewhere = map[string]string{
		"Spread":       "which nodes a site takes, not how many it needs",
		"UseMinNodes":  "which nodes a site takes, not how many it needs",
		"Constraint":   "featureRefusal, and lists of candidates",
		"Features":     "the text of Constraint",
		"Partitions":   "which pools are asked",
		"QOS":          "rights of its user, limits",
		"Reservation":  "which nodes are free",
		"Exclude":      "setNodeLists: which nodes are free",
		"SwitchesWait": "how long Switches holds",
		"Traffic":      "the price of distance",
		"Licenses":     "the site's licenses",
		"TimeLimit":    "limits of partitions, and for how long nodes are held",
		"TimeMin":      "limits of partitions, and for how long nodes are held",
		"Clusters":     "which sites are asked",
		"Sites":        "which sites are asked",
		"NotSites":     "which sites are asked",
		"MaxCost":      "which offers are too dear",
		"Plugins":      "which sites have the option",
		"Alternatives": "demands of their own",
		"Components":   "demands of their own",
		"id":           "a number", "text": "a length", "refused": "said at submission",
	}
)

func TestEveryFieldOfADemandCounts(t *testing.T) {
	m := newModel(bedSite())
	takes := func(call string) string {
		r, err := sbatch.Parse(sbatch.Input{Args: append(strings.Fields(call), "--wrap", "true"), Dir: "/tmp", Now: time.Unix(1e9, 0), Slurm: sbatch.Slurm2411})
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		g, no := m.poolFits(newAsk(demand.Of(&r.Spec), false), 0, "")
		if no != nil {
			return "no: " + no.why.Text()
		}
		return fmt.Sprintf("%+v", g.fits)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[demand.Demand]()) {
		calls, ok := byCall[f.Name]
		switch _, other := elsewhere[f.Name]; {
		case ok == other:
			t.Errorf("%s: say in one of the tables by which call it changes what a job takes, or who else reads it", f.Name)
		case ok && takes(calls.base) == takes(calls.with):
			t.Errorf("%s: %q and %q take the same: %s", f.Name, calls.base, calls.with, takes(calls.with))
		}
	}
}

// What was planned onto nodes that are too small is refused, with the reason.
func TestTooSmall(t *testing.T) {
	m := newModel(bedSite())
	for call, want := range map[string]string{
		"--gpus=1 --cpus-per-gpu=64": "64 CPUs on a node, nodes have 16",
		"--mincpus=64":               "64 CPUs on a node, nodes have 16",
		"--tmp=500G":                 "500 GiB of temporary disk on a node, nodes have 0 MiB",
		"--gpus-per-socket=2 --sockets-per-node=2":    "2 sockets, nodes have 1",
		"--gpus-per-task=1 --cpus-per-gpu=17 -n1":     "17 CPUs for a task, nodes have 16",
		"--gres=gpu:4 --cpus-per-gpu=5":               "20 CPUs on a node, nodes have 16",
		"--gpus-per-socket=5 --sockets-per-node=1":    "5 gpu on each node, nodes have 4",
		"--ntasks-per-gpu=5 --gpus-per-node=4":        "20 tasks of 1 CPUs on each node, nodes have room for 16",
		"--threads-per-core=2":                        "2 threads a core, nodes have 1",
		"-N6,8":                                       "6 nodes, pool has 4",
		"--exclusive -N2 --mem-per-gpu=40G --gpus=4 ": "takes 4 nodes, asked for at most 2",
	} {
		r, err := sbatch.Parse(sbatch.Input{Args: append(strings.Fields(call), "--wrap", "true"), Dir: "/tmp", Now: time.Unix(1e9, 0), Slurm: sbatch.Slurm2411})
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		_, no := m.poolFits(newAsk(demand.Of(&r.Spec), false), 0, "")
		if no == nil {
			t.Errorf("%s fits", call)
		} else if got := no.why.Text(); got != want {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
}
