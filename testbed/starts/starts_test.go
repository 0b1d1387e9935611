package starts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
)

// asked is a forecast of a job's start.
type asked struct {
	at   time.Time
	by   string // command
	why  string
	says said
}

// job is one that was asked for.
type job struct {
	id    federation.JobID
	kind  string
	args  []string
	nodes int
	sites []string
	begin time.Time
	after federation.JobID
	times int // it was asked about while it waits
	asked []asked
}

// trials is everything that was asked, and what the commands said otherwise than each other.
type trials struct {
	jobs   []*job
	budget []span // when the poor account had one
	rng    *rand.Rand

	pairs, apart      int // squeue --start and fed explain
	tried, triedApart int // fsub --test-only and squeue --start
	disagree          []string
}

func TestNoStartBeforeItIsPossible(t *testing.T) {
	world.Need(t)
	want, ahead := 24, 8
	if full() {
		want, ahead = 500, 14
	}
	accounts(t)
	tr := &trials{rng: rand.New(rand.NewPCG(1, 2))}
	began := time.Now()
	ctx, enough := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for i, name := range siteNames {
		others.Go(func() { crowd(ctx, t, name, rand.New(rand.NewPCG(3, uint64(i)))) })
	}
	defer func() { enough(); others.Wait() }()
	time.Sleep(5 * time.Second)
	rich := false
	for change := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		waiting := tr.look(t)
		if len(tr.jobs) == want && waiting == 0 {
			break
		}
		if last := len(tr.jobs) == want; time.Now().After(change) || last && !rich { // those of the poor account have to end, too
			rich = !rich
			change = time.Now().Add(map[bool]time.Duration{true: 8 * time.Second, false: 30 * time.Second}[rich])
			tr.setBudget(t, rich, last)
			if last {
				change = change.Add(time.Hour)
			}
		}
		if waiting < ahead && len(tr.jobs) < want {
			tr.submit(t)
		}
		if time.Since(began) > time.Duration(want)*4*time.Second+3*time.Minute {
			t.Fatalf("%d of %d jobs wait still", waiting, len(tr.jobs))
		}
	}
	enough()
	others.Wait()
	tr.judge(t, began)
}

// crowd has bob keep some jobs of whole nodes waiting at a site, and fill all of it for a while now and then.
func crowd(ctx context.Context, t *testing.T, name string, rng *rand.Rand) {
	run := func(args ...string) string {
		out, err := world.Bed.Output(ctx, name, "bob", args...)
		if err != nil && ctx.Err() == nil {
			t.Logf("%s: %v", name, err)
		}
		return out
	}
	local := func(sleep int) {
		run("sbatch", "-Q", "--exclusive", "-N1", fmt.Sprintf("-t%d", 1+rng.IntN(3)), "-o", "/dev/null", "--wrap", fmt.Sprintf("sleep %d", sleep))
	}
	for block := time.Now(); ctx.Err() == nil; {
		if time.Now().After(block) {
			for range nodesOfSite {
				local(20 + rng.IntN(25))
			}
			block = time.Now().Add(time.Duration(80+rng.IntN(60)) * time.Second)
		}
		for waiting := strings.Count(run("squeue", "-h", "-u", "bob", "-t", "PD", "-o", "%i"), "\n"); waiting < 1; waiting++ {
			local(3 + rng.IntN(6))
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
	}
	world.Bed.Output(context.WithoutCancel(ctx), name, "bob", "scancel", "-u", "bob")
}

// setBudget gives the poor account a budget, or takes it away.
func (tr *trials) setBudget(t *testing.T, rich, forEver bool) {
	t.Helper()
	now := time.Now()
	budget := "0.01/month"
	if rich {
		budget = "100000/month"
		tr.budget = append(tr.budget, span{now, now.Add(24 * time.Hour)})
	}
	if _, err := at("", "fed", "account", "modify", "poor", "Budget="+budget); err != nil {
		t.Fatal(err)
	}
	if n := len(tr.budget); !rich && n > 0 {
		tr.budget[n-1].to = time.Now()
	}
}

// submit tries a job of a kind that is drawn, and submits it.
func (tr *trials) submit(t *testing.T) {
	t.Helper()
	rng := tr.rng
	j := &job{kind: "plain", nodes: 1, sites: siteNames}
	if rng.IntN(4) == 0 {
		j.nodes = 2 + rng.IntN(3)
	}
	j.args = []string{"--exclusive", fmt.Sprintf("-N%d", j.nodes), fmt.Sprintf("-t%d", 1+rng.IntN(3)), "-o", "/dev/null"}
	if rng.IntN(2) == 0 {
		j.sites = siteNames[rng.IntN(2):][:1]
		j.args = append(j.args, "--fed-sites="+j.sites[0])
	}
	switch k := rng.IntN(20); {
	case k < 2:
		j.kind, j.args = "budget", append(j.args, "-Apoor")
	case k < 4:
		j.kind, j.args = "limit", append(j.args, "-Anarrow")
	case k < 5:
		j.kind, j.begin, j.args = "begin", time.Now().Add(15*time.Second).Truncate(time.Second), append(j.args, "--begin=now+15")
	case k < 7 && len(tr.jobs) > 0:
		j.after = tr.jobs[len(tr.jobs)-1].id
		j.kind, j.args = "dependency", append(j.args, fmt.Sprintf("--dependency=afterany:%d", j.after))
	}
	j.args = append(j.args, "--wrap", fmt.Sprintf("sleep %d", 1+rng.IntN(5)))
	now := time.Now()
	says, text, err := trial(j.args)
	if err != nil {
		t.Error(err)
		return
	}
	j.asked = append(j.asked, asked{now, "fsub --test-only", text, says})
	j.id = submit(t, j.args)
	tr.jobs = append(tr.jobs, j)
}

// look asks about the jobs that wait, twice each, and returns how many do.
func (tr *trials) look(t *testing.T) (waiting int) {
	t.Helper()
	now := time.Now()
	rows := listed(t)
	for _, j := range tr.jobs {
		says, waits := rows[j.id]
		if !waits {
			continue
		}
		waiting++
		if j.times == 2 || j.times == 1 && now.Sub(j.asked[1].at) < 5*time.Second {
			continue
		}
		other, why, waits := explained(t, j.id)
		for tries := 0; waits && !says.near(other, 6*time.Second) && tries < 2; tries++ { // something has changed between the two
			if says, waits = listed(t)[j.id]; waits {
				other, why, waits = explained(t, j.id)
			}
		}
		if !waits {
			continue
		}
		if tr.pairs++; !says.near(other, 6*time.Second) {
			tr.apart++
			tr.disagree = append(tr.disagree, fmt.Sprintf("job %d (%s): squeue --start %s, fed explain %s (%s)", j.id, j.kind, says, other, why))
		}
		if first := &j.asked[0]; j.times == 0 {
			if tr.tried++; !first.agrees(says, now) {
				tr.triedApart++
				tr.disagree = append(tr.disagree, fmt.Sprintf("job %d (%s): --test-only %s, squeue --start %s (%s)\n%s", j.id, j.kind, first.says, says, why, first.why))
			}
		}
		j.times++
		j.asked = append(j.asked, asked{now, "squeue --start", why, says}, asked{now, "fed explain", why, other})
	}
	return waiting
}

// agrees reports whether a trial says what squeue --start says of the job a moment later, though others may have started or ended meanwhile. A job that is to start at once may
// be on its way to its nodes then: nobody says when it starts.
func (a *asked) agrees(s said, now time.Time) bool {
	if s.p50.IsZero() && !a.says.p50.IsZero() {
		return a.says.bound().Before(now.Add(10 * time.Second))
	}
	return a.says.near(s, 10*time.Second+max(0, s.bound().Sub(now)/2))
}

// judge compares what was said with what was possible, and with what came.
func (tr *trials) judge(t *testing.T, began time.Time) {
	t.Helper()
	sites, runs := map[string]*Site{}, map[federation.JobID]span{}
	time.Sleep(5 * time.Second) // the last ends are on their way to accounting
	for _, name := range siteNames {
		s, ran := occupied(t, name, began.Add(-time.Minute))
		sites[name] = &s
		for _, j := range tr.jobs {
			if r, known := ran[j.id]; known {
				runs[j.id] = r
			}
		}
	}
	var early, starts, forecasts, half, nine, within int
	for _, j := range tr.jobs {
		ran, known := runs[j.id]
		if !known {
			t.Errorf("job %d (%s) has not started", j.id, j.kind)
			continue
		}
		starts++
		for _, a := range j.asked {
			if a.says.p50.IsZero() {
				continue
			}
			forecasts++
			possible := tr.possible(j, a.at, sites, runs)
			if possible.After(a.at) && a.says.bound().Add(time.Second).Before(possible) { // else it was possible at once
				early++
				t.Errorf("job %d (%s, %d nodes at %v): at %s %s said %s, which was not possible before %s; it started at %s\n%s",
					j.id, j.kind, j.nodes, j.sites, a.at.Format(time.TimeOnly), a.by, a.says, possible.Format(time.TimeOnly), ran.from.Format(time.TimeOnly), a.why)
			}
			if !ran.from.After(a.says.p50.Add(time.Second)) {
				half++
			}
			if !a.says.p90.IsZero() {
				nine++
				if !ran.from.After(a.says.p90.Add(time.Second)) {
					within++
				}
			}
		}
	}
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	t.Logf("%d starts, %d forecasts: %d before the start was possible; p90 holds for %.3f of %d, p50 for %.3f", starts, forecasts, early, share(within, nine), nine, share(half, forecasts))
	t.Logf("squeue --start and fed explain were asked %d times, and said otherwise %d times; fsub --test-only and squeue --start %d and %d", tr.pairs, tr.apart, tr.tried, tr.triedApart)
	for _, text := range tr.disagree[:min(len(tr.disagree), 20)] {
		t.Log(text)
	}
	if tr.apart*50 > tr.pairs {
		t.Error("squeue --start and fed explain do not agree")
	}
}

// possible is the earliest time from at on when a job could start, by what could be known then: where its nodes are free, its account may have it run, its begin time
// has come and what it depends on is over.
func (tr *trials) possible(j *job, at time.Time, sites map[string]*Site, runs map[federation.JobID]span) time.Time {
	var times []time.Time
	for _, name := range j.sites {
		times = append(times, sites[name].Free(j.nodes, at))
	}
	first := slices.MinFunc(times, time.Time.Compare)
	later := func(t time.Time) {
		if t.After(first) {
			first = t
		}
	}
	switch j.kind {
	case "budget":
		later(open(tr.budget, at))
	case "begin":
		later(j.begin)
	case "dependency":
		later(runs[j.after].to)
	case "limit":
		for _, o := range tr.jobs {
			if r := runs[o.id]; o != j && o.kind == "limit" && r.from.Before(at.Add(-Lag)) {
				later(r.to)
			}
		}
	}
	return first
}
