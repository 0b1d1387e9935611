package place

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

func TestEffective(t *testing.T) {
	more := func(m sbatch.More) *sbatch.More { return &m }
	for _, c := range []struct {
		as         string
		spec, want sbatch.Spec
	}{
		{"", sbatch.Spec{GRES: "gpu:2"}, sbatch.Spec{GRES: "gpu:2"}},
		{"a100:2", sbatch.Spec{GRES: "gpu:h100:2,nvme:1"}, sbatch.Spec{GRES: "gpu:a100:4,nvme:1"}},
		{"a100", sbatch.Spec{GRES: "nvme:1,gpu:h100:2,gpu:a100:1"}, sbatch.Spec{GRES: "nvme:1,gpu:a100:3"}},
		{"a100:2", sbatch.Spec{GRES: "nvme"}, sbatch.Spec{GRES: "nvme"}},
		{"a100:2", sbatch.Spec{GPUs: "4", MemPerGPU: 1000}, sbatch.Spec{GPUs: "a100:8", MemPerGPU: 500}},
		{"a100:2", sbatch.Spec{GPUsPerNode: "h100", GPUsPerTask: "h100:1"}, sbatch.Spec{GPUsPerNode: "a100:2", GPUsPerTask: "a100:2"}},
		{"a100:1.5", sbatch.Spec{GPUs: "3"}, sbatch.Spec{GPUs: "a100:5"}},
		{"gh200:0.5", sbatch.Spec{GPUs: "3"}, sbatch.Spec{GPUs: "gh200:2"}},
		{"a100:x", sbatch.Spec{GPUs: "3"}, sbatch.Spec{GPUs: "3"}},
		{"a100:0", sbatch.Spec{GPUs: "3"}, sbatch.Spec{GPUs: "3"}},
		{"a100:2", sbatch.Spec{GPUs: "1", More: more(sbatch.More{CPUsPerGPU: 8, GPUsPerSocket: "2"})},
			sbatch.Spec{GPUs: "a100:2", More: more(sbatch.More{CPUsPerGPU: 4, GPUsPerSocket: "a100:4"})}},
		{"a100:2", sbatch.Spec{GPUs: "2", NTasks: 2, More: more(sbatch.More{NTasksPerGPU: 1})},
			sbatch.Spec{GPUs: "a100:4", NTasks: 4, More: more(sbatch.More{NTasksPerGPU: 1})}},
	} {
		if got := Effective(c.spec, &decision.Offer{As: c.as}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v as %q:\n got %+v\nwant %+v", c.spec, c.as, got, c.want)
		}
	}
}

func TestEffectiveComponents(t *testing.T) {
	spec := sbatch.Spec{GPUs: "1", Het: []sbatch.Spec{{GPUs: "2"}, {NTasks: 1}}}
	o := decision.Offer{Parts: []decision.Offer{{As: "a100:2"}, {As: "h100"}, {}}}
	want := sbatch.Spec{GPUs: "a100:2", Het: []sbatch.Spec{{GPUs: "h100:2"}, {NTasks: 1}}}
	if got := Effective(spec, &o); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if spec.GPUs != "1" || spec.Het[0].GPUs != "2" {
		t.Errorf("the job itself was changed: %+v", spec)
	}
}

// What is submitted asks for as many GPUs of the kind as the offer counts with, and for no less memory in all than the job does.
func TestEffectiveIsWhatWasOffered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		job := drawJob(t, w, 1)
		w.ofFederation(&failer{T: t}, job.Spec, "--accelerators", "h100,a100:2")
		w.jobs = []*federation.Job{job}
		for _, o := range Plan(w.snapshot(), w.policy).Decisions[0].Offers {
			if o.As == "" || len(o.Parts) > 0 {
				continue
			}
			spec := Effective(*job.Spec, o)
			fed := *spec.Fed
			fed.Sites, fed.Accelerators = []string{string(o.Site)}, nil
			spec.Fed = &fed
			again := *job
			again.SetSpec(spec)
			w.jobs = []*federation.Job{&again}
			for _, p := range Plan(w.snapshot(), w.policy).Decisions[0].Offers {
				if p.Pool == o.Pool && (p.GPUs != o.GPUs || p.GPUType != o.GPUType || p.Nodes != o.Nodes || p.As != "") {
					t.Fatalf("offered %+v, submitted it comes to %+v", o, p)
				}
				if p.Pool == o.Pool {
					return
				}
			}
			t.Fatalf("what was offered at %s cannot run there as %+v", o.Pool, spec)
		}
	})
}
