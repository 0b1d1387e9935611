package slurm

import (
	"slices"
	"strings"
	"testing"

	"fsub/federation"
	"fsub/sbatch"
)

func TestRewrite(t *testing.T) {
	p := patternNumbers{'j': 30000017, 'A': 7, 'a': 3, 'b': 3}
	for in, want := range map[string]string{
		"slurm-%j.out":    "slurm-30000017.out",
		"%A_%4a.%10a.%0a": "7_0003.0000000003.3",
		"%12a":            "0000000003",
		"%5x-%t-%N-%u":    "%5x-%t-%N-%u",
		"%%j-%j":          "%%j-30000017",
		`a\%j`:            `a\%j`,
		"%":               "%",
		"x%5":             "x%5",
		"%b%s%J":          "3%s%J",
		"":                "",
	} {
		if got := p.rewrite(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestFileNamesOfMappedJobs: the federation's numbers stand where the site would put its own.
func TestFileNamesOfMappedJobs(t *testing.T) {
	part := &federation.ArrayPart{Array: 30_000_001, Index: 12, Count: 5, Min: 4, Max: 20, Step: 4}
	for name, c := range map[string]struct {
		array, output  string
		part           *federation.ArrayPart
		pinned, mapped string
		env            []string
	}{
		"job":           {"", "", nil, "", "slurm-30000007.out", []string{"FSUB_JOB_ID=30000007"}},
		"job, %A":       {"", "o-%A-%x", nil, "o-%A-%x", "o-30000007-%x", nil},
		"array":         {"1-3", "", nil, "", "slurm-30000007_%a.out", []string{"FSUB_ARRAY_JOB_ID=30000007"}},
		"array, %j":     {"1-3", "%j-%A", nil, "%j-%A", "%j-30000007", nil},
		"part":          {"", "", part, "slurm-30000001_12.out", "slurm-30000001_12.out", []string{"FSUB_JOB_ID=30000007", "FSUB_ARRAY_JOB_ID=30000001"}},
		"part, widths":  {"", "%4a-%b-%j", part, "0012-2-%j", "0012-2-30000007", nil},
		"part, no file": {"", "/dev/null", part, "/dev/null", "/dev/null", nil},
	} {
		s := submission()
		s.Job.Spec.Array, s.Job.Spec.Output, s.Job.Part = c.array, c.output, c.part
		before := slices.Clone(s.Payload.Environment)
		if c.part != nil {
			s = asPart(s, false)
		}
		if got := s.Job.Spec.Output; got != c.pinned {
			t.Errorf("%s, pinned: %q, want %q", name, got, c.pinned)
		}
		m := withIDs(s)
		if got := m.Job.Spec.Output; got != c.mapped {
			t.Errorf("%s, mapped: %q, want %q", name, got, c.mapped)
		}
		for _, v := range append(before, c.env...) {
			if !slices.Contains(m.Payload.Environment, v) {
				t.Errorf("%s: no %s in %v", name, v, m.Payload.Environment)
			}
		}
	}
}

// TestPatternsOfOldSites: 22.05 leaves %b as it is, for any job.
func TestPatternsOfOldSites(t *testing.T) {
	s := submission()
	s.Job.Spec.Output, s.Job.Part = "%A_%a.%b", &federation.ArrayPart{Array: 30_000_001, Index: 12}
	if got := asPart(s, true).Job.Spec.Output; got != "30000001_12.%b" {
		t.Error(got)
	}
}

// TestPartLooksLikeATask: its variables are those of the whole array, over any that the user's environment had.
func TestPartLooksLikeATask(t *testing.T) {
	s := submission()
	s.Payload.Environment = []string{"SLURM_ARRAY_TASK_ID=99", "A=b"}
	s.Job.Part = &federation.ArrayPart{Array: 30_000_001, Index: 12, Count: 5, Min: 4, Max: 20, Step: 4}
	got := asPart(s, false).Payload.Environment
	want := []string{"A=b", "SLURM_ARRAY_JOB_ID=30000001", "SLURM_ARRAY_TASK_ID=12", "SLURM_ARRAY_TASK_COUNT=5", "SLURM_ARRAY_TASK_MIN=4",
		"SLURM_ARRAY_TASK_MAX=20", "SLURM_ARRAY_TASK_STEP=4"}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if !slices.Equal(s.Payload.Environment, []string{"SLURM_ARRAY_TASK_ID=99", "A=b"}) {
		t.Error("the payload that was given has changed")
	}
}

// TestArgumentsWithoutArgv: a script that can be given none finds its arguments all the same.
func TestArgumentsWithoutArgv(t *testing.T) {
	argv := []string{"a b", "it's", "$x"}
	if got, want := withArguments("#!/bin/bash -l\necho \"$@\"\n", argv), "#!/bin/bash -l\nset -- 'a b' 'it'\\''s' '$x'\necho \"$@\"\n"; got != want {
		t.Errorf("%q", got)
	}
	got := withArguments("#!/usr/bin/env python3\nprint(1)\n", argv)
	if !strings.HasPrefix(got, "#!/bin/sh\nexec /usr/bin/env python3 /dev/fd/3 'a b' ") || !strings.Contains(got, "\nprint(1)\nFSUB_END_OF_SCRIPT\n") {
		t.Errorf("%q", got)
	}
}

func TestDesc38(t *testing.T) {
	s := submission()
	off := false
	s.Job.Spec = &sbatch.Spec{Name: "n", MinNodes: 2, MaxNodes: 3, MemPerNode: sbatch.MemAll, Requeue: &off, TimeLimit: sbatch.Unlimited, WorkDir: "/w", Output: "o-%j",
		More: &sbatch.More{WaitAllNodes: sbatch.No, UseMinNodes: true}}
	body, err := describeV38(&s, how{argv: true})
	if err != nil {
		t.Fatal(err)
	}
	d := body.(map[string]any)["job"].(desc38)
	for key, want := range map[string]any{"nodes": "2-3", "memory_per_node": "0", "no_requeue": true, "time_limit": "UNLIMITED", "standard_output": "/w/o-%j",
		"wait_all_nodes": 0, "minimum_nodes": true, "standard_input": "/dev/null"} {
		if d[key] != want {
			t.Errorf("%s: %v, want %v", key, d[key], want)
		}
	}
	for _, key := range []string{"requeue", "oversubscribe", "spread_job", "argv", "test_only", "hold", "job_id", "user_id"} { // some count by being there
		if v, there := d[key]; there {
			t.Errorf("%s: %v", key, v)
		}
	}
}
