package pools

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fsub/cloud"
	"fsub/cloud/local"
	"fsub/federation"
)

// TestGPUsOfOneHost: nodes that share a host's GPUs have different ones, in the job's environment and in that of its tasks.
func TestGPUsOfOneHost(t *testing.T) {
	t.Parallel()
	o := whole()
	o.gpuDir = t.TempDir()
	for i := range 4 {
		gpu := filepath.Join(o.gpuDir, fmt.Sprintf("0000:%02x:00.0", i))
		if err := os.MkdirAll(gpu, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(gpu, "information"), []byte("Model: \t\t NVIDIA H100 80GB HBM3\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.shapes = []local.Shape{{Type: "gpu", CPUs: 4, Mem: 4096, GPUs: 2, GPUType: "h100", Price: 4}}
	o.pools = []cloud.PoolConfig{{Name: "main", Default: true, Max: 4, Shared: true}}
	w := newWorld(t, o)
	script := `echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS; srun sh -c 'echo $SLURM_NODEID $CUDA_VISIBLE_DEVICES $SLURM_STEP_GPUS' | sort; srun -n4 --gpus-per-task=1 sh -c 'echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES' | sort`
	ref := w.run(script, func(s *federation.Submission) {
		ofNodes(2)(s)
		s.Job.Spec.GPUsPerNode, s.Job.Spec.NTasks, s.Job.Spec.NTasksPerNode = "2", 4, 2
	})
	w.until(ref, federation.Completed)
	want := "0,1 0,1\n0 0,1 0,1\n0 0,1 0,1\n1 2,3 2,3\n1 2,3 2,3\n0 0\n1 1\n2 2\n3 3"
	if got := w.file(fmt.Sprintf("slurm-%d.out", ref.ID)); got != want {
		t.Errorf("it wrote %q, want %q", got, want)
	}
}
