package controller

import (
	"testing"
	"time"

	"fsub/federation/decision"
	"fsub/sbatch"
)

func TestRelaxations(t *testing.T) {
	spec := &sbatch.Spec{Partition: "gpu", Switches: 1, GPUsPerNode: "h100:4", GPUs: "a:1,b:2", TimeLimit: 24 * time.Hour, MinNodes: 1, MaxNodes: 1, Fed: &sbatch.Fed{Sites: []string{"a"}, NotSites: []string{"b"}, MaxCost: 5}}
	e := &decision.Expected{P50: time.Hour, P90: 2 * time.Hour, Runs: 12}
	var got []string
	for _, r := range relaxations(spec, e) {
		got = append(got, r.change)
		less := *spec
		r.edit(&less)
		if r.change == "without a type of GPU" && (less.GPUsPerNode != "4" || less.GPUs != "a:1,b:2") {
			t.Errorf("without a type: %q and %q", less.GPUsPerNode, less.GPUs)
		}
	}
	want := []string{"with --time=2:31:00 (nine of ten such jobs end within 2h0m0s)", "without --fed-sites", "without --fed-exclude-sites", "without --fed-max-cost", "without --partition=gpu",
		"without --nodes", "without --switches", "without a type of GPU"}
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	if short := relaxations(spec, &decision.Expected{P90: time.Second, Runs: 12}); short[0].change != "with --time=0:01:00 (nine of ten such jobs end within 1m0s)" {
		t.Error(short[0].change)
	}
	if spec.Fed.MaxCost != 5 || spec.GPUsPerNode != "h100:4" {
		t.Error("the job's own Spec has changed")
	}
	if few := (&decision.Expected{P90: time.Minute, Runs: 3}); tighter(sbatch.Unlimited, few) != 0 {
		t.Error("three runs are too few to advise a limit by")
	}
}
