package demand_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/testbed/bed"
	"fsub/testbed/realjob"
)

var (
	record = flag.String("record", "", "write down in this file what real Slurm did with random shapes")
	table  = flag.String("table", "testdata/fit.tsv", "what real Slurm did, to compare Fit with")
	ask    = flag.String("ask", "", "calls to write down instead of random ones, with semicolons between")
	held   = flag.String("held", "", "what other jobs hold meanwhile: CPUs/MiB/GPUs of each node")
	rounds = flag.Int("rounds", 5, "states of the site that random shapes are tried in, 40 each")
)

// TestRecord asks real Slurm.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("SKIPPED: it writes down what real Slurm does for who says -record FILE")
	}
	site := realjob.Open(t)
	f, err := os.OpenFile(*record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	calls := strings.Split(*ask, "; ")
	for k := 0; k == 0 || *ask == "" && k < *rounds; k++ {
		taken := make([]realjob.Taken, 4)
		if *ask == "" {
			taken, calls = randomTaken(r), make([]string, 40)
			for i := range calls {
				calls[i] = strings.Join(anyShape(r), " ")
			}
		}
		for i, f := range strings.Fields(*held) {
			if _, err := fmt.Sscanf(f, "%d/%d/%d", &taken[i].CPUs, &taken[i].Mem, &taken[i].GPUs); err != nil {
				t.Fatal(err)
			}
		}
		for i, j := range site.Many(t, taken, calls) {
			fmt.Fprintf(f, "%s\t%s\t%s\n", state(taken), calls[i], outcome(j))
		}
	}
}

// randomTaken is what other jobs hold: half of the time nothing.
func randomTaken(r *rand.Rand) []realjob.Taken {
	taken := make([]realjob.Taken, 4)
	if r.IntN(2) == 0 {
		return taken
	}
	for i := range taken {
		if r.IntN(3) > 0 {
			taken[i] = realjob.Taken{CPUs: 1 + r.IntN(16), Mem: 1 + r.IntN(20)*3000, GPUs: r.IntN(5)}
		}
	}
	return taken
}

// state is how the table writes what is taken: "5/3000/1" of each node.
func state(taken []realjob.Taken) string {
	all := make([]string, len(taken))
	for i, f := range taken {
		all[i] = fmt.Sprintf("%d/%d/%d", f.CPUs, f.Mem, f.GPUs)
	}
	return strings.Join(all, " ")
}

func outcome(j *realjob.Job) string {
	switch {
	case j.Crashed:
		return "crash"
	case j.Refused != "":
		return "refused: " + strings.ReplaceAll(j.Refused, "\n", "|")
	case j.Waits != "":
		return "waits: " + j.Waits
	}
	var b strings.Builder
	for _, n := range j.Groups[0].Nodes {
		fmt.Fprintf(&b, "%s:%d/%d/%d ", n.Name[len(n.Name)-1:], n.CPUs, n.Mem, len(n.GPUs))
	}
	for _, name := range []string{"SLURM_TASKS_PER_NODE=", "SLURM_JOB_CPUS_PER_NODE=", "SLURM_NTASKS="} {
		for _, v := range j.Tasks[0].Env {
			if value, ok := strings.CutPrefix(v, name); ok {
				b.WriteString(strings.ToLower(name[6:7]) + "=" + value + " ")
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// anyShape is a call of sbatch. Most are such that they make sense.
func anyShape(r *rand.Rand) (args []string) {
	add := func(format string, n ...any) { args = append(args, fmt.Sprintf(format, n...)) }
	one := func(of int) bool { return r.IntN(of) == 0 }
	nodes := 0
	switch r.IntN(6) {
	case 0, 1:
		nodes = 1 + r.IntN(4)
		add("-N%d", nodes)
	case 2:
		nodes = 1 + r.IntN(3)
		add("-N%d-%d", nodes, nodes+1+r.IntN(3))
	}
	tasks := 0
	switch r.IntN(8) {
	case 0, 1, 2:
		tasks = max(1, nodes) + r.IntN(12)
	case 3:
		tasks = max(1, nodes) + r.IntN(60)
	}
	if tasks > 0 {
		add("-n%d", tasks)
	}
	if one(5) {
		add("--ntasks-per-node=%d", 1+r.IntN(8))
	}
	gpus := true
	switch k := r.IntN(14); k {
	case 0, 1:
		add("--gres=gpu:%d", r.IntN(5))
	case 2, 3:
		each := 1 + r.IntN(4)
		add("--gpus-per-node=%d", each)
		if one(4) {
			add("--gpus=%d", each*(1+r.IntN(4)))
		}
	case 4, 5:
		add("--gpus=%d", max(1, nodes)+r.IntN(9))
	case 6, 7:
		each := 1 + r.IntN(3)
		add("--gpus-per-task=%d", each)
		if tasks == 0 || one(6) {
			add("--gpus=%d", each*(1+r.IntN(4)))
		}
	case 8:
		add("--gpus=%d", max(1, nodes)+r.IntN(9))
		add("--ntasks-per-gpu=%d", 1+r.IntN(3))
	case 9:
		add("--gres=gpu:%d", 1+r.IntN(3))
		if one(2) {
			add("--ntasks-per-gpu=%d", 1+r.IntN(3))
		}
	default:
		gpus = one(8)
	}
	switch k := r.IntN(12); {
	case k < 3:
		add("-c%d", 1+r.IntN(5))
	case k == 3 && gpus:
		add("--cpus-per-gpu=%d", 1+r.IntN(6))
	}
	switch k := r.IntN(12); {
	case k < 2:
		add("--mem=%d", r.IntN(22)*3000)
	case k < 4:
		add("--mem-per-cpu=%d", 1+r.IntN(8000))
	case k == 4 && gpus:
		add("--mem-per-gpu=%d", 1+r.IntN(30000))
	}
	for _, o := range []string{"--exclusive", "-O", "--ntasks-per-core=1", "--ntasks-per-core=2", "--ntasks-per-socket=1", "--ntasks-per-socket=2", "--hint=nomultithread", "--hint=multithread",
		"--hint=compute_bound", "--hint=memory_bound", "--threads-per-core=1", "--threads-per-core=2", "--spread-job", "--use-min-nodes", "-m cyclic", "-m block", "-m plane=2", "-m block:cyclic",
		"-m block,pack", "--mincpus=6", "-w alpha3", "-w alpha[2,4]", "-x alpha1", "-x alpha[2-3]", "--contiguous", "--gpus-per-socket=1", "--exclusive=user", "--oversubscribe"} {
		if one(60) {
			add("%s", o)
		}
	}
	return args
}

// TestRecordedFit compares with what real Slurm did. A line of the table: what other jobs held, the call, what came of it, and, where ours is not the same, why.
func TestRecordedFit(t *testing.T) {
	text, err := os.ReadFile(*table)
	if err != nil {
		t.Fatal(err)
	}
	same, lines := 0, 0
	for line := range strings.Lines(string(text)) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		lines++
		switch got := planned(alpha(), f[0], strings.Fields(f[1])); {
		case got == f[2] && f[3] != "":
			t.Errorf("%s\t%s\nis said to be another (%s), but is the same", f[0], f[1], f[3])
		case got == f[2]:
			same++
		case f[3] == "":
			t.Errorf("%s\t%s\n real %s\n ours %s", f[0], f[1], f[2], got)
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines were compared", lines)
	}
	t.Logf("%d of %d are the same", same, lines)
}

// TestRandomFit compares with what real Slurm does with random calls. What is not the same must have a reason.
func TestRandomFit(t *testing.T) {
	if os.Getenv("FSUB_FULL") == "" {
		t.Skip("SKIPPED: random calls are for long runs (FSUB_FULL=1): each takes half a second of a real site")
	}
	site := realjob.Open(t)
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	because, same := map[string]int{}, 0
	for range *rounds {
		taken := randomTaken(r)
		calls := make([]string, 40)
		for i := range calls {
			calls[i] = strings.ReplaceAll(strings.Join(anyShape(r), " "), "alpha", realjob.Name)
		}
		for i, j := range site.Many(t, taken, calls) {
			want, got := outcome(j), planned(realjob.Config(), state(taken), strings.Fields(calls[i]))
			if want == got {
				same++
				continue
			}
			why := reason(releaseOf(realjob.Config()), state(taken), calls[i], want, got)
			because[why]++
			if why == "" {
				t.Errorf("%s\t%s\n real %s\n ours %s", state(taken), calls[i], want, got)
			}
		}
	}
	t.Logf("%d are the same, others: %v", same, because)
}

// idle is the state in which nobody holds anything.
const idle = "0/0/0 0/0/0 0/0/0 0/0/0"

// reason is why ours is another outcome; "": nobody knows.
func reason(at sbatch.Release, taken, call, want, got string) string {
	has := func(word string) bool { return strings.Contains(" "+call, " "+word) }
	tied := has("--ntasks-per-gpu") || has("--gpus-per-task")
	switch {
	case want == "crash" || strings.Contains(want, "Zero Bytes"):
		return "slurmctld 24.11.5 ends, with a null pointer in topology/default"
	case strings.Contains(want, "Too few processes"):
		return "sbatch itself counts planes"
	case strings.HasPrefix(want, "refused") && strings.HasPrefix(got, "refused"):
		return "refused with other words"
	case strings.HasPrefix(want, "waits") && (strings.HasPrefix(got, "refused") || taken == idle):
		return "slurmctld lets it wait for ever"
	case at == sbatch.Slurm2605 && strings.Contains(want, "Task count specification invalid"):
		return "26.05 refuses fewer tasks than nodes"
	case at == sbatch.Slurm2605 && has("--ntasks-per-node") && has("--g"):
		return "26.05 refuses fewer tasks than --ntasks-per-node on nodes with GPUs, and gives each GPU of a task its node"
	case at != sbatch.Slurm2411 && has("--ntasks-per-gpu"):
		return "tasks that GPUs count"
	case at == sbatch.Slurm2205 && (has("--gpus=") || has("--gpus-per-node") && has("-n")):
		return "22.05 fills one node after the other with the GPUs of the job, whatever memory they need"
	case at == sbatch.Slurm2205 && has("--ntasks-per-node"):
		return "22.05 tells the script of as many tasks as a node may have, and takes the fewest nodes of a range"
	case has("--contiguous"):
		return "contiguous nodes mean nothing where nodes are rented"
	case has("--ntasks-per-socket=2"):
		return "the site's CPUs are sockets, those of rented machines are not known"
	case has("--ntasks-per-core=2"):
		return "two tasks of a core that has one thread"
	case has("--gpus=") && has("--ntasks-per-gpu") && has("-n"):
		return "tasks, and GPUs of all that count others"
	case tied && has("-c"):
		return "24.11 refuses or spreads CPUs of tasks that GPUs count, 26.05 does not"
	case has("-O"):
		return "overcommitted with CPUs of tasks or GPUs"
	case tied && has("--use-min-nodes"):
		return "the fewest nodes of tasks that GPUs count"
	case has("--mincpus"), has("--cpus-per-gpu"), has("--spread-job"), has("-c3"), has("-c5"):
		return "CPUs that do not come out even"
	case taken != idle:
		return "which of the nodes that are used in part"
	}
	return ""
}

// planned is our outcome at a site.
func planned(at bed.Site, taken string, args []string) string {
	whole, free := nodesOf(at), nodesOf(at)
	for i, f := range strings.Fields(taken) {
		var cpus, mem, gpus int
		if _, err := fmt.Sscanf(f, "%d/%d/%d", &cpus, &mem, &gpus); err != nil {
			return err.Error()
		}
		n := &free[i]
		n.CPUs, n.Mem, n.GPUs, n.Busy = n.CPUs-cpus, n.Mem-sbatch.MemMiB(mem), n.GPUs-gpus, cpus > 0
	}
	r, err := sbatch.Parse(sbatch.Input{Args: append(append([]string{}, args...), "--wrap", "true"), Dir: "/", Now: time.Now(), Slurm: releaseOf(at)})
	if err != nil {
		if exit, ok := errors.AsType[*sbatch.Exit](err); ok {
			return "refused: " + strings.ReplaceAll(strings.TrimSpace(exit.Error()), "\n", "|")
		}
		return err.Error()
	}
	o := demand.Options{DefMemPerCPU: 1000, Release: releaseOf(at)}
	_, err = demand.Fit(demand.Of(&r.Spec), whole, o)
	if refused, ok := errors.AsType[*demand.Refused](err); ok {
		return "refused: sbatch: error: " + strings.ReplaceAll(refused.Text, "\n", "|sbatch: error: ")
	}
	if err != nil {
		said, _ := strings.CutPrefix(err.Error(), demand.ErrNoFit.Error())
		if said, _ = strings.CutPrefix(said, ": "); said != "" && !strings.HasPrefix(said, "not all of ") {
			said = "sbatch: error: " + said + "|"
		} else {
			said = ""
		}
		return "refused: " + said + "sbatch: error: Batch job submission failed: Requested node configuration is not available"
	}
	shares, err := demand.Fit(demand.Of(&r.Spec), free, o)
	if err != nil {
		return "waits: Resources"
	}
	return shown(&r.Spec, shares)
}

func shown(s *sbatch.Spec, shares []demand.Share) string {
	var b strings.Builder
	var tasks, cpus []int
	total := 0
	for _, sh := range shares {
		fmt.Fprintf(&b, "%d:%d/%d/%d ", sh.Node+1, sh.CPUs, sh.Mem, sh.GPUs)
		tasks, cpus = append(tasks, sh.Tasks), append(cpus, sh.CPUs)
		total += sh.Tasks
	}
	fmt.Fprintf(&b, "t=%s j=%s", counts(tasks), counts(cpus))
	if m := s.More; s.NTasks > 0 || s.NTasksPerNode > 0 || s.GPUsPerTask != "" || m != nil && (m.NTasksPerGPU > 0 || m.NTasksPerTRES > 0) {
		fmt.Fprintf(&b, " n=%d", total)
	}
	return b.String()
}

// counts writes "2(x3),1".
func counts(n []int) string {
	var all []string
	for i := 0; i < len(n); {
		same := i
		for same < len(n) && n[same] == n[i] {
			same++
		}
		item := strconv.Itoa(n[i])
		if same-i > 1 {
			item += fmt.Sprintf("(x%d)", same-i)
		}
		all, i = append(all, item), same
	}
	return strings.Join(all, ",")
}
