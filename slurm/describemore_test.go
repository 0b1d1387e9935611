package slurm

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fsub/sbatch"
)

func TestDescribeMore(t *testing.T) {
	s := submission()
	s.Job.Spec = &sbatch.Spec{WorkDir: "/w", GPUs: "2", MinNodes: 2, MaxNodes: 2, More: &sbatch.More{Hint: "nomultithread", NTasksPerGPU: 3,
		Distribution: "plane=4", Overcommit: true, Licenses: "a:1", NoKill: true, WaitAllNodes: sbatch.Yes, GPUBind: "closest", CPUsPerGPU: 2,
		Priority: "TOP", GRESFlags: "enforce-binding", Profile: "energy,task", KillOnInvalidDep: sbatch.No}}
	d, err := describe(&s)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(d)
	text := string(b)
	for _, want := range []string{`"threads_per_core":1`, `"ntasks_per_tres":3`, `"distribution":"plane=4"`, `"distribution_plane_size":4`, `"overcommit":true`,
		`"minimum_cpus":2`, `"licenses":"a:1"`, `"kill_on_node_fail":false`, `"wait_all_nodes":true`, `"tres_bind":"gres/gpu:closest"`,
		`"cpus_per_tres":"gres/gpu:2"`, `"GRES_BINDING_ENFORCED"`, `"NO_KILL_INVALID_DEPENDENCY"`, `"profile":["ENERGY","TASK"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, `"priority"`) {
		t.Errorf("the priority of the user's wish is sent with the rights of SlurmUser: %s", text)
	}
}

// TestShrinkIsNoKill: what a job asks for that goes on without a node that it loses is Slurm's --no-kill, in all versions; what it asks for otherwise is not.
func TestShrinkIsNoKill(t *testing.T) {
	for on, want := range map[string]bool{"shrink": true, "wait": false, "requeue": false, "": false} {
		s := submission()
		s.Job.Spec = &sbatch.Spec{WorkDir: "/w", MinNodes: 2, MaxNodes: 2, Fed: &sbatch.Fed{OnNodeLoss: on}}
		d, err := describe(&s)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(d)
		if strings.Contains(string(b), `"kill_on_node_fail":false`) != want {
			t.Errorf("%q: %s", on, b)
		}
	}
}

// An API version that has no word for an option says so; the newest has words for all.
func TestLacks(t *testing.T) {
	for _, tr := range versions {
		if got, want := slices.Contains(tr.lacks, "cores-per-socket"), tr.version != "v0.0.45" && !tr.old; got != want {
			t.Errorf("%s lacks %v", tr.version, tr.lacks)
		}
	}
	for spec, uses := range map[*sbatch.Spec]bool{
		{}: false, {More: &sbatch.More{Hint: "nomultithread"}}: false, {More: &sbatch.More{CoresPerSocket: 2}}: true,
		{More: &sbatch.More{Hint: "memory_bound"}}: true,
	} {
		if spec.Uses("cores-per-socket") != uses {
			t.Errorf("%+v: %t", spec.More, !uses)
		}
	}
}
