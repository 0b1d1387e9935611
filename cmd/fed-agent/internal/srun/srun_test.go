package srun

import (
	"slices"
	"testing"
)

func slicesSort(s []string) { slices.Sort(s) }

func TestFirst(t *testing.T) {
	g := newGang(t, 3, 1)
	out, errs, code := g.shell(t, `srun -l hostname; srun -n4 -l bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_TASK_PID $$; exit $SLURM_PROCID'`)
	t.Logf("%d\n%s\n%s", code, out, errs)
}
