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

// What a job that gets nothing is told holds for those like it until somebody claims nodes of the site where it would start first.
func TestClaimAtTheSameSiteIsSeen(t *testing.T) {
	w := newWorld()
	w.read(t, "site s0\nprice cpu=1\npartition a default nodes=n1\npartition b nodes=n1\nnodes n1 cpus=16 mem=64000\nrunning n1 cpus=16 mem=400 end=40m\n"+
		"site s1\nprice cpu=1\npartition c default nodes=m1\nnodes m1 cpus=16 mem=64000\nrunning m1 cpus=16 mem=400 end=40m")
	for id, part := range []string{"a", "a", "c", "a", "b", "a"} {
		w.jobs = append(w.jobs, w.job(t, split(fmt.Sprintf("%d -p%s -c16 -t60m", id+1, part))))
	}
	s := w.snapshot()
	d := newWorldOf(&s, Policy{Backlog: -1, Reservations: 1}).Plan().Decisions
	for i, minutes := range []int{40, 100, 40, 100, 100, 160} {
		if start := d[i].Offers[0].Start.Sub(w.now); start != time.Duration(minutes)*time.Minute {
			t.Errorf("job %d starts in %v, not in %d minutes", i+1, start, minutes)
		}
	}
}
