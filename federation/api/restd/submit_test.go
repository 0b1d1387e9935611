package restd

import (
	"slices"
	"testing"

	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Slurm's numbers for "no value" ask for nothing, and what no option has is named.
func TestReadMore(t *testing.T) {
	var m sbatch.More
	d := wire.JobDesc{SocketsPerNode: 65534, CoresPerSocket: 65535, ThreadsPerCore: 2, NTasksPerTRES: 65534, DelayBoot: 4294967294, MinCPUsPerNode: 65534, TasksPerCore: -1}
	if left := readMore(&m, &d); !slices.Equal(left, []string{"tasks_per_core"}) {
		t.Errorf("left %q", left)
	}
	if want := (sbatch.More{ThreadsPerCore: 2}); m != want {
		t.Errorf("%+v", m)
	}
}
