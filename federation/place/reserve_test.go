package place

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
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

// The plan tells where it keeps places for gangs. A reservation that the federation has made for one of them keeps nobody of ours away: the plan does that itself.
func TestPlacesOfGangs(t *testing.T) {
	w := newWorld()
	w.read(t, "site s0\nprice gres/gpu:h100=1\npartition main default nodes=n[1-3]\nnodes n[1-3] cpus=16 mem=64000 gpu=h100:4\nrunning n2 cpus=2 mem=4000 gpu=h100:4 end=60m")
	gang := w.job(t, split("20 -N3 --gres=gpu:4 -t30m"))
	short, long := w.job(t, split("21 -N1 --gres=gpu:4 -t50m")), w.job(t, split("22 -N1 --gres=gpu:4 -t2h"))
	w.jobs = append(w.jobs, gang, short, long)
	s := w.snapshot()
	world := newWorldOf(&s, Policy{Backlog: -1})
	look := func(when string, places int, starts time.Duration) {
		t.Helper()
		n := 0
		for p := range Places(world) {
			if n++; p.Job != gang.ID || p.Site != "s0" || fmt.Sprint(p.Nodes) != "[n1 n2 n3]" || !p.Start.Equal(w.now.Add(time.Hour)) || p.Limit != 30*time.Minute || p.Shared {
				t.Errorf("%s: place %+v", when, p)
			}
		}
		for _, d := range world.Plan().Decisions {
			switch {
			case d.Job == gang.ID && len(d.Offers) > 0 && !d.Offers[0].Start.Equal(w.now.Add(starts)):
				t.Errorf("%s: the gang starts at %v, want in %v", when, d.Offers[0].Start, starts)
			case d.Job == short.ID && places > 0 && !d.Bind, d.Job == long.ID && d.Bind:
				t.Errorf("%s: job %d is bound: %v", when, d.Job, d.Bind)
			}
		}
		if n != places {
			t.Errorf("%s: %d places, want %d", when, n, places)
		}
	}
	look("first", 1, time.Hour)
	change := func(id federation.JobID, reserved bool, end time.Duration) {
		site, seen := *s.Sites[0], *s.Sites[0].Seen
		seen.Reservations = []federation.Reservation{{Name: "r", For: decision.Promised{Job: id}, Start: w.now.Add(-time.Minute), End: w.now.Add(end), Nodes: []string{"n1", "n2", "n3"}}}
		seen.Nodes = slices.Clone(seen.Nodes)
		for i := range seen.Nodes {
			if reserved {
				seen.Nodes[i].State = append(slices.Clone(seen.Nodes[i].State), "RESERVED")
			}
		}
		site.Seen = &seen
		world.SetSite(&site)
	}
	change(gang.ID, false, 2*time.Hour)
	look("reserved for the gang", 1, time.Hour)
	change(gang.ID, true, 3*time.Hour) // its end does not count
	look("which shows at the nodes", 1, time.Hour)
	change(0, true, 2*time.Hour)
	places := 0
	for p := range Places(world) {
		if places++; !p.Start.Equal(w.now.Add(2 * time.Hour)) {
			t.Errorf("behind somebody else's reservation: %+v", p)
		}
	}
	if places != 1 {
		t.Errorf("behind somebody else's reservation: %d places", places)
	}
}

// The place of a heterogeneous job is that of all components, for as long as the longest; of one that fits on a node there is none.
func TestPlacesOfComponents(t *testing.T) {
	w := newWorld()
	w.read(t, "site s0\nprice gres/gpu:h100=1\npartition main default nodes=n[1-4]\nnodes n[1-4] cpus=16 mem=64000 gpu=h100:4\nrunning n2 cpus=2 mem=4000 gpu=h100:4 end=60m\n"+
		"running n4 cpus=2 mem=4000 gpu=h100:4 end=90m")
	job := w.job(t, split("20 -N2 --gres=gpu:4 -t30m : -N1 --gres=gpu:4 -t40m"))
	small := w.job(t, split("21 -N1 --gres=gpu:2 -t30m : -N1 --gres=gpu:2 -t40m"))
	w.jobs = append(w.jobs, job, small)
	s := w.snapshot()
	var all []Place
	for p := range Places(newWorldOf(&s, Policy{Backlog: -1})) {
		all = append(all, p)
	}
	if len(all) != 1 || all[0].Job != job.ID || fmt.Sprint(all[0].Nodes) != "[n1 n2 n3]" || !all[0].Start.Equal(w.now.Add(time.Hour)) || all[0].Limit != 40*time.Minute {
		t.Errorf("places: %+v", all)
	}
}
