package srun

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fsub/cloud/layout"
)

var stepsTable = flag.String("table", "testdata/steps.tsv", "what real srun did, to compare with")

// TestRecordedSteps compares with what real srun did within real jobs. Lines of the table: a job's options, nodes and environment; a step's options, what came of
// it, what was said, and, where ours is another, why.
func TestRecordedSteps(t *testing.T) {
	text, err := os.ReadFile(*stepsTable)
	if err != nil {
		t.Fatal(err)
	}
	var job string
	var nodes []layout.Free
	var env []string
	same, lines, start := 0, 0, 0
	because := map[string]int{}
	for line := range strings.Lines(string(text)) {
		f := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		if f[0] == "job" {
			start = 0
			job, nodes, env = f[1], stepNodes(t, f[2]), strings.Fields(f[3])
			continue
		}
		lines++
		want, got := f[2]+"\t"+f[3], ourStep(t, f[1], env, nodes, strings.Contains(job, "gpu"), start)
		if r := strings.Fields(f[2]); r[0] == "0" {
			start = startAfter(r[1], nodes)
		}
		switch {
		case want == got && f[4] != "":
			t.Errorf("%s, srun %s\nis said to be another (%s), but is the same", job, f[1], f[4])
		case want == got:
			same++
		case f[4] == "":
			t.Errorf("%s, srun %s\n real %s\n ours %s", job, f[1], want, got)
		default:
			because[f[4]]++
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines were compared", lines)
	}
	t.Logf("%d of %d are the same, others: %v", same, lines, because)
}

func stepNodes(t *testing.T, text string) (nodes []layout.Free) {
	for w := range strings.FieldsSeq(text) {
		name, has, _ := strings.Cut(w, ":")
		n := layout.Free{Name: name}
		if _, err := fmt.Sscanf(has, "%d/%d/%d", &n.CPUs, &n.Mem, &n.GPUs); err != nil {
			t.Fatal(err)
		}
		n.IdleCPUs, n.IdleMem, n.IdleGPUs = n.CPUs, n.Mem, n.GPUs
		nodes = append(nodes, n)
	}
	return nodes
}

// startAfter is where the step after one whose tasks ran on those nodes starts to look.
func startAfter(tasks string, nodes []layout.Free) int {
	var parts []layout.Part
	for _, n := range tasks {
		parts = append(parts, layout.Part{Node: slices.IndexFunc(nodes, func(f layout.Free) bool { return f.Name == "n"+string(n) })})
	}
	return layout.Next(parts, len(nodes))
}

// ourStep is what our srun and the service of its nodes make of a step.
func ourStep(t *testing.T, line string, env []string, nodes []layout.Free, asked bool, start int) string {
	args := strings.Fields(line)
	if len(args) > 0 && args[0][0] == '@' {
		file := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(args[0][1:], ",", "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env, args = append(env[:len(env):len(env)], "SLURM_HOSTFILE="+file), args[1:]
	}
	c, err := parse(append(args, "true"), env, -1)
	var said []string
	if c != nil {
		said = c.notices
	}
	if e, ok := err.(*exit); ok {
		for line := range strings.Lines(e.stderr) {
			said = append(said, strings.TrimSpace(line))
		}
		return strconv.Itoa(e.code) + "\t" + strings.Join(said, "|")
	}
	c.ask.Start = start
	c.ask.NoGPUs = c.ask.NoGPUs || !asked && !c.ask.Asks() // as the service does
	parts, err := layout.Place(c.ask, nodes)
	if errors.Is(err, layout.ErrBusy) { // in its own way
		err = layout.Refuse(layout.TooMany)
	}
	if r, ok := errors.AsType[*layout.Refused](err); ok {
		text := r.Text
		if r.Tried() {
			text = "Unable to create step for job JOB: " + text
		}
		for l := range strings.SplitSeq(text, "\n") {
			said = append(said, "srun: error: "+l)
		}
		return "1\t" + strings.Join(said, "|")
	}
	o := outlay{nodes: map[string]string{}, perTask: "-"}
	ranks := 0
	for _, p := range parts {
		name := nodes[p.Node].Name
		for _, r := range p.Ranks {
			o.tasks = append(o.tasks, [2]string{strconv.Itoa(r), strings.TrimPrefix(name, "n")})
		}
		o.nodes[name] = fmt.Sprintf("%d/%d", p.CPUs, seenGPUs(c.gpuBind, &c.ask, &p))
		ranks += len(p.Ranks)
	}
	if v, ok := lookup(c.taskEnv(), "SLURM_CPUS_PER_TASK"); ok {
		o.perTask = v
	}
	if o.distribution = c.shownDistribution; o.distribution == "" || o.distribution[0] == ',' {
		o.distribution = layout.Default(c.ask, ranks) + o.distribution
	}
	return "0 " + o.String() + "\t" + strings.Join(said, "|")
}

// seenGPUs is how many GPUs of a node the tasks of a step see there together.
func seenGPUs(bind string, ask *layout.Step, p *layout.Part) int {
	kind, count, _ := strings.Cut(bind, ":")
	each, _ := strconv.Atoi(count)
	if kind == "" {
		kind, each = "per_task", ask.GPUsPerTask
	}
	if tasks := len(p.Ranks); kind == "per_task" && each > 0 && tasks > 1 {
		return min(p.GPUs, each*tasks)
	}
	return p.GPUs
}

// outlay is a step's layout.
type outlay struct {
	tasks                 [][2]string // rank and the number of its node
	nodes                 map[string]string
	perTask, distribution string
}

// String is the nodes of the ranks, what the step has of each node, SLURM_CPUS_PER_TASK and SLURM_DISTRIBUTION.
func (o *outlay) String() string {
	slices.SortFunc(o.tasks, func(a, b [2]string) int {
		x, _ := strconv.Atoi(a[0])
		y, _ := strconv.Atoi(b[0])
		return x - y
	})
	s := ""
	for _, t := range o.tasks {
		s += t[1]
	}
	var nodes []string
	for n, has := range o.nodes {
		nodes = append(nodes, n+":"+has)
	}
	slices.Sort(nodes)
	return fmt.Sprintf("%s %s c=%s %s", s, strings.Join(nodes, " "), o.perTask, o.distribution)
}
