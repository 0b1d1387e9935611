package place

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// bedSite is the site at which the table was written down: four nodes of 16 CPUs, 62.5 GiB and four GPUs.
func bedSite() *federation.Site {
	obs := &federation.Observation{Partitions: []federation.Partition{{Name: "main", Default: true, State: "UP", MaxTime: sbatch.Unlimited, DefMemPerCPU: 1000}}}
	for i := range 4 {
		obs.Nodes = append(obs.Nodes, federation.Node{Name: fmt.Sprintf("alpha%d", i+1), State: []string{"IDLE"}, CPUs: 16, Mem: 64000, Partitions: []string{"main"},
			Sockets: 1, Cores: 16, Threads: 1, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4}}})
	}
	return &federation.Site{Name: "alpha", Seen: obs}
}

// share is what a job got of a site: nodes, and CPUs and GPUs of all of them.
type share struct{ nodes, cpus, gpus int }

func taken(f *fit) share {
	if f.whole {
		return share{f.nodes, 16 * f.nodes, 4 * f.nodes}
	}
	return share{f.nodes, int(f.takes()) * f.nodes, f.gpus}
}

// near reports whether a plan takes what Slurm gave. It has equal parts of all nodes, so they may be rounded up.
func (s share) near(plan share, ofTask int) bool {
	return s.nodes == plan.nodes && s.cpus <= plan.cpus && plan.cpus < s.cpus+s.nodes*ofTask && s.gpus <= plan.gpus && plan.gpus < s.gpus+s.nodes
}

// TestRecordedFits compares what the planner says that a job takes of empty nodes with what real Slurm gave it.
func TestRecordedFits(t *testing.T) {
	text, err := os.ReadFile("../demand/testdata/fit.tsv")
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(bedSite())
	same, lines, because := 0, 0, map[string]int{}
	for line := range strings.Lines(string(text)) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		if f[0] != "0/0/0 0/0/0 0/0/0 0/0/0" || f[2] == "crash" {
			continue
		}
		r, err := sbatch.Parse(sbatch.Input{Args: append(strings.Fields(f[1]), "--wrap", "true"), Dir: "/tmp", Now: time.Unix(1e9, 0), Slurm: sbatch.Slurm2411})
		if err != nil {
			continue
		}
		d := demand.Of(&r.Spec)
		if d.Refused() != nil || d.RefusedGPUs() != "" {
			continue
		}
		lines++
		fits, no := m.fits(newAsk(d, false), 0)
		var want share
		for _, n := range strings.Fields(f[2]) {
			var node, cpus, mem, gpus int
			if _, err := fmt.Sscanf(n, "%d:%d/%d/%d", &node, &cpus, &mem, &gpus); err == nil {
				want = share{want.nodes + 1, want.cpus + cpus, want.gpus + gpus}
			}
		}
		got, ok := "refused", want.nodes == 0 && no != nil
		if no == nil {
			var all []string
			for i := range fits {
				all = append(all, fmt.Sprint(taken(&fits[i])))
				ok = ok || want.near(taken(&fits[i]), max(d.CPUsPerTask, 1))
			}
			got = strings.Join(all, " ")
		}
		switch why := unlike(d, f[1], f[2]); {
		case ok:
			same++
		case why == "":
			t.Errorf("%s\n real %s = %v\n ours %s", f[1], f[2], want, got)
		default:
			because[why]++
		}
	}
	if lines < 400 || same < 370 {
		t.Errorf("only %d of %d are the same", same, lines)
	}
	t.Logf("%d of %d are the same, others: %v", same, lines, because)
}

// unlike is why a plan for a call is not what Slurm did with it; "": nobody knows.
func unlike(d *demand.Demand, call, real string) string {
	has := func(word string) bool { return strings.Contains(" "+call, " "+word) }
	switch {
	case strings.Contains(real, "Too few processes"):
		return "sbatch itself counts planes"
	case strings.Contains(real, "Zero Bytes"):
		return "slurmctld 24.11.5 ends, with a null pointer in topology/default"
	case d.MaxNodes > d.MinNodes:
		return "of a range slurmctld takes as many nodes as are free, a plan as few as will do"
	case d.Spread:
		return "slurmctld spreads it over all nodes, a plan over as few as will do"
	case has("--ntasks-per-gpu"), has("--cpus-per-gpu"):
		return "CPUs of GPUs that do not come out even"
	case has("-w"):
		return "the plan tries no more nodes than are named"
	case d.Count("gpu", demand.PerTask) > 0 && d.Memory.Amount > 0 && strings.HasPrefix(real, "refused"):
		return "slurmctld 24.11.5 refuses all memory of a node with GPUs of tasks"
	}
	return ""
}
