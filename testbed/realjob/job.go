package realjob

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/slurm/hostlist"
)

// Call is one submission.
type Call struct {
	Args []string // of sbatch, before the script
	Env  []string // over Site.Env
	Srun []string // options of the step that the script runs; nil: none
}

// Job is what a submission came to.
type Job struct {
	Refused string // what sbatch said instead of taking it
	Waits   string // of [Site.Many]: why it was pending
	Crashed bool   // of [Site.Many]: slurmctld ended when it was asked
	ID      int
	Dir     string // where it was submitted
	Tasks   []Task // one; of an array each of its tasks, by number
	Groups  []Group
	Steps   map[int][]string // the environment of each task of the step, by rank
}

// Task is one run of the script.
type Task struct {
	Env []string // of the script, as slurmd gave it
}

// Group is one component of a heterogeneous job, the only one of any other.
type Group struct {
	ID    int
	Show  map[string]string // the fields of scontrol show job, by name
	Nodes []Node
}

// Node is what a job has of one node.
type Node struct {
	Name string
	CPUs int
	Mem  int64
	GPUs []int
}

// script writes down what it sees. "mv" is the last thing it does, so that a file without ".part" is whole.
const script = `#!/bin/bash
seen="$PWD/seen.${SLURM_ARRAY_TASK_ID-0}"
[ -d "${seen%/*}" ] || exit 1
{
	scontrol show job -d "$SLURM_JOB_ID"
	printf '\0environment\0'
	cat "/proc/$$/environ"
} >"$seen.part"
%STEP%
mv "$seen.part" "$seen"
`

// Run submits a call, waits for the job to end, and tells what it got. tasks is how many times the script runs.
func (s *Site) Run(t *testing.T, c Call, tasks int) *Job {
	t.Helper()
	s.awaitIdle(t)
	s.n++
	j := &Job{Dir: filepath.Join(s.dir, strconv.Itoa(s.n)), Steps: map[int][]string{}}
	if err := s.folder(j.Dir); err != nil {
		t.Fatal(err)
	}
	step := ""
	if c.Srun != nil {
		step = `srun ` + strings.Join(c.Srun, " ") + ` bash -c 'cat /proc/$$/environ >"$0.step$SLURM_PROCID"' "$seen"`
	}
	if err := os.WriteFile(filepath.Join(j.Dir, "job.sh"), []byte(strings.Replace(script, "%STEP%", step, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append(append([]string{"sbatch", "--parsable"}, c.Args...), "job.sh")
	out, stderr, err := s.run(t.Context(), j.Dir, append(s.Env(), c.Env...), args...)
	switch {
	case exitError(err):
		j.Refused = strings.TrimSpace(stderr)
		return j
	case err != nil:
		t.Fatal(err)
	}
	if j.ID, err = strconv.Atoi(strings.TrimSpace(out)); err != nil {
		t.Fatalf("sbatch --parsable said %q", out)
	}
	defer func() { _, _, _ = s.run(t.Context(), "/", s.Env(), "scancel", "-Q", strconv.Itoa(j.ID)) }()
	j.read(t, j.await(t, tasks))
	return j
}

func (j *Job) await(t *testing.T, tasks int) (files []string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		all, _ := filepath.Glob(filepath.Join(j.Dir, "seen.*"))
		files = files[:0]
		for _, f := range all {
			if !strings.Contains(strings.TrimPrefix(filepath.Base(f), "seen."), ".") {
				files = append(files, f)
			}
		}
		if len(files) >= tasks {
			return files
		}
	}
	log, _ := filepath.Glob(filepath.Join(j.Dir, "slurm-*"))
	text := []byte{}
	if len(log) > 0 {
		text, _ = os.ReadFile(log[0])
	}
	t.Fatalf("job %d did not end: %s", j.ID, text)
	return nil
}

func (j *Job) read(t *testing.T, files []string) {
	t.Helper()
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		show, env, _ := bytes.Cut(text, []byte("\x00environment\x00"))
		if i == 0 {
			j.groups(t, string(show))
		}
		j.Tasks = append(j.Tasks, Task{Env: variables(env)})
	}
	steps, _ := filepath.Glob(filepath.Join(j.Dir, "seen.*.step*"))
	for _, f := range steps {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		rank, err := strconv.Atoi(f[strings.LastIndex(f, "step")+4:])
		if err != nil {
			t.Fatal(err)
		}
		j.Steps[rank] = variables(text)
	}
}

func variables(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

var field = regexp.MustCompile(`(\S+?)=(\S*)`)

// groups reads what scontrol said.
func (j *Job) groups(t *testing.T, show string) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSpace(show), "\n\n") {
		g := Group{Show: map[string]string{}}
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			fields := map[string]string{}
			for _, m := range field.FindAllStringSubmatch(line, -1) {
				fields[m[1]] = m[2]
				if _, there := g.Show[m[1]]; !there {
					g.Show[m[1]] = m[2]
				}
			}
			if strings.HasPrefix(line, "Nodes=") {
				g.nodes(t, fields)
			}
		}
		g.ID, _ = strconv.Atoi(g.Show["JobId"])
		j.Groups = append(j.Groups, g)
	}
}

// nodes reads "Nodes=alpha[1-2] CPU_IDs=0-3 Mem=4000 GRES=gpu:h100:2(IDX:0-1)".
func (g *Group) nodes(t *testing.T, f map[string]string) {
	t.Helper()
	names, err := hostlist.Expand(f["Nodes"])
	if err != nil {
		t.Fatal(err)
	}
	mem, err := strconv.ParseInt(f["Mem"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var gpus []int
	if _, index, ok := strings.Cut(f["GRES"], "IDX:"); ok {
		gpus = span(strings.TrimSuffix(index, ")"))
	}
	for _, n := range names {
		g.Nodes = append(g.Nodes, Node{Name: n, CPUs: len(span(f["CPU_IDs"])), Mem: mem, GPUs: gpus})
	}
}

// span expands "0-3,7".
func span(list string) (out []int) {
	for item := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(item, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if ranged {
			b, _ = strconv.Atoi(to)
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out
}
