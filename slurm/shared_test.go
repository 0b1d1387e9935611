package slurm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/sbatch"
)

// TestSpecIsShared: what a site is sent may differ from what the job asks for. Other jobs have the same Spec: it stays as it is.
func TestSpecIsShared(t *testing.T) {
	spec := sbatch.Spec{Name: "x", Comment: "mine", Output: "%A-%j.out", More: &sbatch.More{Prefer: "ib"}}
	want := spec
	want.More = &sbatch.More{Prefer: "ib"}
	job := federation.Job{ID: 30_000_001, Spec: &spec}
	d := newDriver(&site{})
	for _, st := range []standing{{known: true, mapped: true}, {known: true, mapped: true, wckey: true}} {
		if s := d.keyed(st, federation.Submission{Job: &job, Key: "k"}); s.Job.Spec == &spec {
			t.Errorf("%+v: no copy", st)
		}
	}
	other := job
	patternNumbers{'j': 5, 'A': 5}.files(&other, defaultOutput)
	if diff := cmp.Diff(want, spec); diff != "" || other.Spec.Output != "5-5.out" {
		t.Errorf("%s\noutput %s", diff, other.Spec.Output)
	}
}
