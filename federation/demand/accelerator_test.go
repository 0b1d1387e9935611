package demand

import (
	"testing"

	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// However GPUs are asked for, as another kind there are FACTOR times as many and the rest stays.
func FuzzAccelerated(f *testing.F) {
	f.Add("gpu:h100:2,nvme:1", "4", "a100:2")
	f.Add("nvme:1,gpu", "h100:2", "a100:1.5")
	f.Fuzz(func(t *testing.T, list, gpus, as string) {
		kind, factor, ok := accelerator(as)
		if !ok {
			return
		}
		before := sbatch.Spec{GRES: list, GPUs: gpus}
		after := Accelerated(before, as)
		count := func(list []gres.Resource, gpu bool) (n int) {
			for _, r := range list {
				if (r.Name == "gpu") == gpu {
					n += r.Count
				}
			}
			return n
		}
		old, err := gres.Parse(list)
		now, _ := gres.Parse(after.GRES)
		if err == nil && count(old, true) < 1<<40 && (count(now, false) != count(old, false) || count(now, true) != scaled(count(old, true), factor)) {
			t.Fatalf("%q as %q is %q", list, as, after.GRES)
		}
		old, err = gres.ParseGPUs(gpus)
		now, _ = gres.ParseGPUs(after.GPUs)
		if n := count(old, true); err == nil && n > 0 && n < 1<<40 && (len(now) != 1 || now[0].Type != kind || now[0].Count != scaled(n, factor)) {
			t.Fatalf("%q as %q is %q", gpus, as, after.GPUs)
		}
	})
}

func TestAlternatives(t *testing.T) {
	d := Of(&sbatch.Spec{GPUs: "2", Fed: &sbatch.Fed{Accelerators: []string{"h100", "a100:2", "h100"}}})
	if len(d.Alternatives) != 2 {
		t.Fatalf("%+v", d.Alternatives)
	}
	if a := d.Alternatives[1]; a.As != "a100:2" || a.Demand.GRES[0].String() != "gpu:a100" || a.Demand.GRES[0].Count != 4 {
		t.Errorf("%+v", a)
	}
	if d := Of(&sbatch.Spec{NTasks: 2, Fed: &sbatch.Fed{Accelerators: []string{"h100"}}}); len(d.Alternatives) > 0 {
		t.Errorf("a job without GPUs: %+v", d.Alternatives)
	}
}
