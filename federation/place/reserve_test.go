package place

import (
	"fmt"
	"testing"
	"time"
)

// Jobs that stand first and wait for nodes of which nothing says when they fall free keep no reservation from those behind them.
func TestWhoHasNoStartTakesNoReservation(t *testing.T) {
	w := newWorld()
	w.read(t, "site s0\nprice gres/gpu:h100=1\npartition main default nodes=n[1-3]\nnodes n[1-3] cpus=16 mem=64000 gpu=h100:4\n"+
		"running n1 cpus=2 mem=4000 gpu=h100:4\nrunning n2 cpus=2 mem=4000 gpu=h100:4 end=60m")
	for id := 1; id <= 12; id++ {
		w.jobs = append(w.jobs, w.job(t, split(fmt.Sprintf("%d -N3 --gres=gpu:4 -t30m", id))))
	}
	gang := w.job(t, split("20 -N2 --gres=gpu:4 -t30m"))
	behind := w.job(t, split("21 -N1 --gres=gpu:4 -t2h")) // would hold the node that the gang needs in an hour
	w.jobs = append(w.jobs, gang, behind)
	s := w.snapshot()
	for _, d := range newWorldOf(&s, Policy{Backlog: -1}).Plan().Decisions {
		switch {
		case d.Job == gang.ID && !d.Offers[0].Start.Equal(w.now.Add(time.Hour)):
			t.Errorf("the gang starts at %v", d.Offers[0].Start)
		case d.Job == behind.ID && d.Bind:
			t.Error("a job starts on what the gang needs")
		}
	}
}
