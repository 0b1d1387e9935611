package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// graph is a workflow of some jobs, of which each depends on earlier ones, and how each of them ends if it runs.
type graph struct {
	kills bool // kill_invalid_depend
	jobs  []graphJob
}

type graphJob struct {
	any   bool
	kinds []string
	on    []int
	kill  sbatch.YesNo
	ends  federation.State
}

func drawGraph(rng *rand.Rand) *graph {
	g := &graph{kills: rng.IntN(2) == 0}
	for i := range 3 + rng.IntN(8) {
		j := graphJob{any: rng.IntN(3) == 0, ends: federation.Completed, kill: []sbatch.YesNo{"", "", sbatch.Yes, sbatch.No}[rng.IntN(4)]}
		if rng.IntN(2) == 0 {
			j.ends = federation.Failed
		}
		for range min(i, rng.IntN(4)) {
			j.on, j.kinds = append(j.on, rng.IntN(i)), append(j.kinds, []string{"afterok", "afterok", "afterany", "afternotok", "after"}[rng.IntN(5)])
		}
		g.jobs = append(g.jobs, j)
	}
	return g
}

// ends are the states that the jobs come to by Slurm's rules: PENDING is one that can never start, and is not cancelled for that.
func (g *graph) ends() (all []federation.State) {
	for _, j := range g.jobs {
		met, broken := 0, 0
		for k, on := range j.on {
			switch was := all[on]; {
			case was == federation.Pending:
				// it neither starts nor ends
			case j.kinds[k] == "afterok" && was != federation.Completed, j.kinds[k] == "afternotok" && was == federation.Completed:
				broken++
			default:
				met++
			}
		}
		kills := g.kills && j.kill == "" || j.kill == sbatch.Yes
		switch runs := met == len(j.on) || j.any && met > 0; {
		case runs:
			all = append(all, j.ends)
		case kills && broken > 0 && (!j.any || broken == len(j.on)): // that those before it wait for ever is no reason: they may be changed
			all = append(all, federation.Cancelled)
		default:
			all = append(all, federation.Pending)
		}
	}
	return all
}

// TestNothingWaitsForEver: of any workflow, however its jobs end, each job has ended or is told to be one that can never start, once.
func TestNothingWaitsForEver(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		g := drawGraph(rand.New(rand.NewPCG(uint64(seed), 7)))
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { g.run(t) })
	}
}

func (g *graph) run(t *testing.T) {
	b := newBench(t)
	b.with(func(c *Config) { c.KillInvalidDepend = g.kills })
	mark, err := b.store.Changes(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ids []federation.JobID
	index := map[federation.JobID]int{}
	for i, j := range g.jobs {
		id := b.submit(func(s *sbatch.Spec) {
			var terms []string
			for k, on := range j.on {
				terms = append(terms, fmt.Sprintf("%s:%d", j.kinds[k], ids[on]))
			}
			s.Dependency = strings.Join(terms, map[bool]string{false: ",", true: "?"}[j.any])
			if j.kill != "" {
				s.More = &sbatch.More{KillOnInvalidDep: j.kill}
			}
		})
		ids, index[id] = append(ids, id), i
	}
	restart := len(g.jobs) / 2
	for n := range 4 * len(g.jobs) {
		b.wait(2 * time.Second)
		for _, site := range []*fakeSite{b.cheap, b.dear} {
			for _, id := range slices.Sorted(maps.Keys(site.jobs)) {
				switch site.jobs[id].State {
				case federation.Pending:
					site.start(id)
				case federation.Running:
					site.end(id, g.jobs[index[id]].ends)
				}
			}
		}
		if n == restart {
			b.restart()
		}
	}
	told := map[federation.JobID]int{}
	log, err := b.store.Changes(t.Context(), mark.Mark, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range log.Commits {
		for _, x := range c.Changes {
			if x.Move != nil && x.Move.What == journal.MoveInvalidDepend {
				told[x.Job]++
			}
		}
	}
	for i, want := range g.ends() {
		j, never := b.job(ids[i]), want == federation.Pending || want == federation.Cancelled
		if j.State != want || never != (j.Reason == reasons.DependencyNever) {
			t.Errorf("job %d (%+v, kill_invalid_depend %t) is %s, %s; want %s", i, g.jobs[i], g.kills, j.State, j.Reason, want)
		}
		if n := told[ids[i]]; (n == 1) != never || n > 1 {
			t.Errorf("job %d, %s: it is told %d times that it can never start", i, j.State, n)
		}
	}
}

// TestLongChainIsToldAtOnce: what follows of a failure is told in one commit, however many jobs come one after another, and undone with its cause.
func TestLongChainIsToldAtOnce(t *testing.T) {
	const n = 2000
	for _, kills := range []bool{false, true} {
		b := newBench(t)
		b.with(func(c *Config) { c.KillInvalidDepend = kills })
		ids := []federation.JobID{b.submit(nil)}
		for range n {
			ids = append(ids, b.submit(func(s *sbatch.Spec) { s.Dependency = fmt.Sprintf("afterok:%d", ids[len(ids)-1]) }))
		}
		b.wait(2 * time.Second)
		b.cheap.start(ids[0])
		b.cheap.end(ids[0], federation.Failed)
		mark, err := b.store.Changes(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.wait(3 * time.Second)
		log, err := b.store.Changes(t.Context(), mark.Mark, 0)
		if err != nil {
			t.Fatal(err)
		}
		var told []int
		for _, c := range log.Commits {
			moves := 0
			for _, x := range c.Changes {
				if x.Move != nil && x.Move.What == journal.MoveInvalidDepend {
					moves++
				}
			}
			if moves > 0 {
				told = append(told, moves)
			}
		}
		if !slices.Equal(told, []int{n}) {
			t.Errorf("kill_invalid_depend %t: that %d jobs can never start is told in commits of %v", kills, n, told)
		}
		last := b.job(ids[n])
		if want := map[bool]federation.State{false: federation.Pending, true: federation.Cancelled}[kills]; last.State != want || last.Reason != reasons.DependencyNever {
			t.Errorf("kill_invalid_depend %t: the last job is %s, %s", kills, last.State, last.Reason)
		}
		if kills {
			continue
		}
		waits := b.ctl.View.waits(t.Context(), &last, b.ctl.forecasts.waitsNow(last.ID))
		text := fmt.Sprintf("%d comes first, and can never start either, since %d is FAILED", ids[n-1], ids[0])
		if len(waits) != 1 || !strings.Contains(waits[0].Worded(time.UTC).Text, text) {
			t.Errorf("the last job waits for %+v, want %q", waits, text)
		}
	}
}
