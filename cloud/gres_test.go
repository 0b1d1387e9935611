package cloud_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch/gres"
)

// TestGRES: what machines have beside GPUs is asked for, counted, shown and given back like any other resource of a node.
func TestGRES(t *testing.T) {
	bubble(t, func(w *world) {
		o := &w.cloud.Offers[0]
		o.GPUs, o.GPUType, o.GRES = 0, "", []gres.Resource{{Name: "tpu", Type: "v5e", Count: 4}}
		w.cfg.Pools[0].Shared, w.cfg.Pools[0].Max = true, 1
		w.ready()
		ask := func(list string) func(*federation.Submission) {
			return func(s *federation.Submission) { s.Job.Spec.CPUsPerTask, s.Job.Spec.GRES = 1, list }
		}
		if _, err := w.driver.Submit(context.Background(), w.job("sleep 1", ask("fpga:1"))); !errors.Is(err, federation.ErrCapacity) {
			t.Errorf("fpga: %v", err)
		}
		first, second := w.submit("sleep 60", ask("tpu:2")), w.submit("sleep 60", ask("tpu:v5e:3"))
		j := w.wants(first, federation.Running, time.Minute)
		if j.TRES != "billing=1,cpu=1,gres/tpu:v5e=2,gres/tpu=2,node=1" {
			t.Errorf("TRES %s", j.TRES)
		}
		if k := w.lookup(second); k.State != federation.Pending {
			t.Errorf("five of four: %s", k.State)
		}
		seen, err := w.driver.Observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if n := seen.Nodes[0]; len(n.GRES) != 1 || n.GRES[0].Name != "tpu" || n.GRES[0].Total != 4 || n.GRES[0].Used != 2 {
			t.Errorf("%+v", n.GRES)
		}
		if k := w.wants(second, federation.Completed, 3*time.Minute); k.Start.Before(w.wants(first, federation.Completed, time.Second).End) {
			t.Errorf("the second began at %s", k.Start)
		}
	})
}
