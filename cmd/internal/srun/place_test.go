package srun

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"fsub/cloud/layout"
)

// TestRecorded lays out what srun 24.11.5 was seen to lay out. A line of the file: the options of the job, SLURM_JOB_CPUS_PER_NODE, the options of
// srun, its exit code, the node of each task, CPUs by node, SLURM_STEP_TASKS_PER_NODE, SLURM_DISTRIBUTION, what srun said.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/place.tsv")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		nodes := recordedNodes(f[1])
		for i := range nodes {
			if strings.Contains(f[0], "exclusive") {
				nodes[i].GPUs, nodes[i].IdleGPUs = 4, 4
			}
		}
		compared++
		got := outcome(strings.Fields(f[2]), recordedEnv(f[0], nodes), nodes)
		want := strings.Join([]string{f[3], f[4], f[5], f[7], f[8]}, "\t")
		if got != want {
			t.Errorf("%s on %s, srun %s:\n got %s\nwant %s", f[0], f[1], f[2], got, want)
		}
	}
	if compared < 800 {
		t.Errorf("only %d lines were compared", compared)
	}
}

// outcome is the right side of a recorded line.
func outcome(args, env []string, nodes []layout.Free) string {
	c, err := parse(append(args, "true"), env, -1)
	said := ""
	if c != nil {
		for _, n := range c.notices {
			said += n + "|"
		}
	}
	if e, ok := err.(*exit); ok {
		return fmt.Sprintf("%d\t\t\t\t%s", e.code, said+strings.ReplaceAll(e.stderr, "\n", "|"))
	}
	parts, err := layout.Place(c.ask, nodes)
	if r, ok := errors.AsType[*layout.Refused](err); ok {
		text := r.Text
		if r.Tried() {
			text = "Unable to create step for job JOB: " + text
		}
		return fmt.Sprintf("1\t\t\t\t%ssrun: error: %s|", said, strings.ReplaceAll(text, "\n", "|srun: error: "))
	}
	if err != nil {
		return err.Error()
	}
	of := map[int]string{}
	var tasks, cpus []string
	for _, p := range parts {
		for _, r := range p.Ranks {
			of[r] = nodes[p.Node].Name
		}
		cpus = append(cpus, fmt.Sprintf("%s=%d", nodes[p.Node].Name, p.CPUs))
	}
	for r := range len(of) {
		tasks = append(tasks, of[r])
	}
	d := c.shownDistribution
	if d == "" || d[0] == ',' {
		d = layout.Default(c.ask, len(of)) + d
	}
	return fmt.Sprintf("0\t%s\t%s\t%s\t%s", strings.Join(tasks, ","), strings.Join(cpus, ","), d, said)
}

// recordedNodes reads "8,2" or "1(x2)".
func recordedNodes(cpus string) (nodes []layout.Free) {
	for item := range strings.SplitSeq(cpus, ",") {
		count, rep, _ := strings.Cut(strings.TrimSuffix(item, ")"), "(x")
		c, _ := strconv.Atoi(count)
		n, err := strconv.Atoi(rep)
		if err != nil {
			n = 1
		}
		for range n {
			nodes = append(nodes, layout.Free{Name: fmt.Sprint("n", len(nodes)+1), CPUs: c, IdleCPUs: c})
		}
	}
	return nodes
}

// recordedEnv is what such a job's batch script has in its environment.
func recordedEnv(job string, nodes []layout.Free) []string {
	n := strconv.Itoa(len(nodes))
	env := []string{"SLURM_JOB_NUM_NODES=" + n, "SLURM_NNODES=" + n}
	for w := range strings.FieldsSeq(job) {
		switch {
		case strings.HasPrefix(w, "-n"):
			env = append(env, "SLURM_NTASKS="+w[2:])
		case strings.HasPrefix(w, "-c"):
			env = append(env, "SLURM_CPUS_PER_TASK="+w[2:])
		case strings.HasPrefix(w, "--ntasks-per-node="):
			per, _ := strconv.Atoi(w[18:])
			env = append(env, "SLURM_NTASKS_PER_NODE="+w[18:], fmt.Sprint("SLURM_NTASKS=", per*len(nodes)))
		case strings.HasPrefix(w, "--distribution="):
			env = append(env, "SLURM_DISTRIBUTION="+w[15:])
		}
	}
	return env
}
