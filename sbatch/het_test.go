package sbatch

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHet compares jobs of several components with what sbatch 22.05.8, 24.11.5 and 26.05.5 made of them on 2026-11-21, before the
// checks between options.
func TestHet(t *testing.T) {
	body, err := os.ReadFile("testdata/het.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(body)) {
		var c struct {
			Release    Release
			Args       []string
			Script     string
			Components []map[string]string
			Stderr     []string
			Exit       int
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		n++
		p := newParser(&Input{Args: c.Args, Slurm: c.Release, Dir: "/tmp", Now: time.Now(), Files: noFiles{},
			Stdin: func() ([]byte, error) { return []byte(c.Script), nil }})
		p.parseOnly = true
		var exit *Exit
		err := p.read()
		if errors.As(err, &exit) && (exit.Code != c.Exit || !slices.Equal(exit.Stderr, c.Stderr)) {
			t.Errorf("%s %q %q: we say %q, sbatch %q", c.Release, c.Args, c.Script, exit.Stderr, c.Stderr)
		}
		if len(p.understood) < len(c.Components) || err == nil && len(p.understood) != len(c.Components) {
			t.Errorf("%s %q %q: %d components %v, sbatch has %v", c.Release, c.Args, c.Script, len(p.understood), p.understood, c.Components)
			continue
		}
		for i, want := range c.Components {
			if diff := compareOptions(p.understood[i], want); diff != "" {
				t.Errorf("%s %q %q: component %d: %s", c.Release, c.Args, c.Script, i, diff)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d calls are recorded", n)
	}
}

// TestHetSpec: each component is a Spec of its own, made of what it takes over and what it says.
func TestHetSpec(t *testing.T) {
	r, err := Parse(input("#!/bin/sh\n#SBATCH -A a -n2 --mem=1G -o out --hint=nomultithread\n#SBATCH hetjob\n#SBATCH -n3 -c2\n", "-J", "j"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Spec.Het) != 1 {
		t.Fatalf("%d further components", len(r.Spec.Het))
	}
	a, b := r.Spec, r.Spec.Het[0]
	if a.NTasks != 2 || b.NTasks != 3 || a.CPUsPerTask != 0 || b.CPUsPerTask != 2 {
		t.Errorf("tasks %d and %d, CPUs %d and %d", a.NTasks, b.NTasks, a.CPUsPerTask, b.CPUsPerTask)
	}
	if b.Account != "a" || b.Name != "j" || b.MemPerNode != 1024 || b.Output != "/home/alice/dir/out" || b.More.Hint != "nomultithread" {
		t.Errorf("taken over: %+v %+v", b, b.More)
	}
	if a.More == b.More {
		t.Error("both share their further options")
	}
}

// What the options of a component say has its number: srun would take it for every component otherwise. What holds for the job as a whole has none.
func TestHetVariables(t *testing.T) {
	r, err := Parse(Input{Args: strings.Fields("-n1 -c2 --gpus=1 --open-mode=append --ntasks-per-node=1 : -n2 --wrap true"), Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"SLURM_OPEN_MODE": "a", "SLURM_JOB_NAME": "wrap", "SLURM_CPUS_PER_TASK_HET_GROUP_0": "2", "SLURM_GPUS_HET_GROUP_0": "1",
		"SLURM_NTASKS_HET_GROUP_1": "2", "SLURM_CPUS_PER_TASK": "", "SLURM_TRES_PER_TASK": "", "SLURM_GPUS": "", "SLURM_NTASKS_PER_NODE": "", "SLURM_OPEN_MODE_HET_GROUP_0": ""} {
		if got, _ := lookup(r.Payload.Environment, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
