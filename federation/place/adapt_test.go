package place

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// What sbatch puts into a job's environment for an option says the same as the job's own fields.
func TestAdapt(t *testing.T) {
	job := federation.Job{Spec: &sbatch.Spec{
		GPUs: "h100:2", GPUsPerTask: "h100:1", MemPerGPU: 1000, NTasks: 2, More: &sbatch.More{NTasksPerGPU: 1},
	}}
	env := []string{"A=h100:2", "SLURM_GPUS=h100:2", "SLURM_MEM_PER_GPU=1000", "SLURM_NTASKS=2", "SLURM_NPROCS=3",
		"SLURM_TRES_PER_TASK=cpu=4,gres/gpu:h100=1,license/x=1", "SLURM_TRES_BIND=gres/gpu:per_task:1"}
	sub := federation.Submission{Job: &job, Offer: decision.Offer{As: "a100:2"}, Payload: sbatch.Payload{Environment: env}}
	Adapt(&sub, nil)
	want := []string{"A=h100:2", "SLURM_GPUS=a100:4", "SLURM_MEM_PER_GPU=500", "SLURM_NTASKS=4",
		"SLURM_NPROCS=3", // was not the job's
		"SLURM_TRES_PER_TASK=cpu=4,gres/gpu:a100=2,license/x=1", "SLURM_TRES_BIND=gres/gpu:per_task:2"}
	if diff := cmp.Diff(want, sub.Payload.Environment); diff != "" {
		t.Error(diff)
	}
	if job.Spec.GPUs != "a100:4" || env[1] != "SLURM_GPUS=h100:2" {
		t.Errorf("asks for %s; the stored environment says %s", job.Spec.GPUs, env[1])
	}

	same := federation.Submission{Job: &federation.Job{Spec: &sbatch.Spec{GPUs: "2"}}, Payload: sbatch.Payload{Environment: env}}
	Adapt(&same, nil)
	if &same.Payload.Environment[0] != &env[0] {
		t.Error("an environment was copied without need")
	}
}

// The variables are those that sbatch 24.11 left for a plugin "my-probe".
func TestAdaptPlugins(t *testing.T) {
	job := federation.Job{Spec: &sbatch.Spec{Plugin: []sbatch.PluginOption{{Name: "probe-image", Value: "foo"}, {Name: "probe-flag"}, {Name: "of-others"}}}}
	sub := federation.Submission{Job: &job, Payload: sbatch.Payload{Environment: []string{"A=1"}}}
	Adapt(&sub, []federation.PluginOption{{Name: "probe-flag", Plugin: "my-probe"}, {Name: "probe-image", Plugin: "my-probe"}})
	want := []string{"A=1",
		"_SLURM_SPANK_OPTION_my_probe_probe_image=foo", "SLURM_SPANK__SLURM_SPANK_OPTION_my_probe_probe_image=foo",
		"_SLURM_SPANK_OPTION_my_probe_probe_flag=", "SLURM_SPANK__SLURM_SPANK_OPTION_my_probe_probe_flag=(null)"}
	if diff := cmp.Diff(want, sub.Payload.Environment); diff != "" {
		t.Error(diff)
	}
}
