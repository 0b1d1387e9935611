package once

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
)

// four sites of three versions, one of which gives numbers of its own.
var four = setting{sites: []string{"alpha", "beta", "gamma", "delta"}, features: []string{""}, direct: true}

func TestMain(m *testing.M) {
	suite.Scontrol()
	os.Exit(m.Run())
}

// TestCampaign submits jobs of all kinds to four real sites for ten minutes, while everything is killed, stopped or cut off in turn. Then all daemons are
// started, and nothing else is done by hand. Every job that was acknowledged ends as it should, each of its tasks once or with the reason why it ran again;
// no run is repeated to which nothing had happened, no node stays drained, and no job is stuck.
//
// FSUB_FULL_TIME is for how long (10m), FSUB_ONCE_SEED the seed, FSUB_ONCE_KEEP=1 leaves the bed up.
func TestCampaign(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, NOTHING WAS TESTED: real Slurm sites need root")
	}
	if os.Getenv("FSUB_FULL") == "" || testing.Short() {
		t.Skip("SKIPPED: half an hour of faults over four real sites: FSUB_FULL=1 runs it")
	}
	length := 10 * time.Minute
	if v := os.Getenv("FSUB_FULL_TIME"); v != "" {
		var err error
		if length, err = time.ParseDuration(v); err != nil {
			t.Fatal(err)
		}
	}
	seed := number(t, "FSUB_ONCE_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("%v of faults; run again with FSUB_FULL=1 FSUB_FULL_TIME=%v FSUB_ONCE_SEED=%d", length, length, seed)
	w := newWorld(t, four, uint64(seed))
	w.pace, w.model = 330*time.Millisecond, w.anything
	x := &campaign{world: w, busy: map[string]bool{}}

	ctx, cancel := context.WithTimeout(t.Context(), length+40*time.Minute)
	defer cancel()
	faults, stop := context.WithTimeout(ctx, length)
	var wg sync.WaitGroup
	wg.Go(func() { x.torment(faults) })
	watching, rest := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { x.watchDrains(watching) })
	watch.Go(func() { x.watchSites(watching) })
	begun := time.Now()
	subs := w.submit(faults, 1<<20)
	wg.Wait()
	stop()
	x.startAll(ctx)
	x.unanswered(ctx, subs)
	x.settle(ctx, subs)
	rest()
	watch.Wait()
	x.judgeAll(subs, begun)
}

// campaign is the faults of one run, and what came of them.
type campaign struct {
	*world
	mu      sync.Mutex
	told    int             // how many that are broken were told at length
	busy    map[string]bool // what is struck just now: nothing is struck twice at once
	faults  []fault
	drained map[string]bool // "NODE REASON" that was seen
	back    []time.Duration // from a fault's end until the daemon has looked at the site again
}

// fault is something that was broken for a time.
type fault struct {
	site, what string // site "": the daemon
	how        string // kill, stop, cut
	from, to   time.Time
	seen       bool // the site was looked at since
}

// anything is a job of any kind.
func (w *world) anything(rng *rand.Rand) Submission {
	s := Submission{Duration: between(rng, 100*time.Millisecond, 4*time.Second), NoRequeue: rng.IntN(4) == 0}
	switch rng.IntN(10) {
	case 0, 1:
		s.Tasks = 2 + rng.IntN(8)
	case 2:
		s.Tasks, s.AtOnce = 4+rng.IntN(8), 2
	case 3:
		s.Nodes = 2
	case 4:
		s.Exclusive = true
	case 5:
		s.GRES = "gpu:1"
	}
	return s
}

// The shares of the faults.
var kinds = []struct {
	how, what string
	share     int
}{
	{"kill", "slurmctld", 13}, {"kill", "daemon", 6}, {"kill", "mariadb", 6}, {"kill", "slurmrestd", 5}, {"kill", "slurmdbd", 4}, {"kill", "slurmd", 4},
	{"stop", "slurmctld", 5}, {"stop", "daemon", 4}, {"cut", "link", 2},
}

// torment breaks something every six seconds or so, for a time, each at any site.
func (x *campaign) torment(ctx context.Context) {
	rng := x.rng(400)
	var wg sync.WaitGroup
	defer wg.Wait()
	all := 0
	for _, k := range kinds {
		all += k.share
	}
	for sleep(ctx, between(rng, 2*time.Second, 10*time.Second)) {
		n, i := rng.IntN(all), 0
		for ; n >= kinds[i].share; i++ {
			n -= kinds[i].share
		}
		f := fault{how: kinds[i].how, what: kinds[i].what, site: x.sites[rng.IntN(len(x.sites))]}
		if f.what == "daemon" {
			f.site = ""
		} else if f.what == "slurmd" {
			f.what = fmt.Sprintf("slurmd:%s%d", f.site, 1+rng.IntN(4))
		}
		lasts := between(rng, 0, 3*time.Second)
		if f.how != "kill" {
			lasts = between(rng, 2*time.Second, 12*time.Second)
		}
		key := f.site + " " + f.what
		x.mu.Lock()
		free := !x.busy[key]
		x.busy[key] = true
		x.mu.Unlock()
		if !free {
			continue
		}
		wg.Go(func() {
			x.strike(ctx, f, lasts)
			x.mu.Lock()
			defer x.mu.Unlock()
			delete(x.busy, key)
		})
	}
}

// strike breaks one thing, and mends it after a while.
func (x *campaign) strike(ctx context.Context, f fault, lasts time.Duration) {
	f.from = time.Now()
	var mend func() error
	var err error
	switch {
	case f.how == "kill" && f.site == "":
		x.daemonKills.Add(1)
		x.daemon.Kill()
		mend = func() error { return x.daemon.Start(x.t.Context()) }
	case f.how == "stop":
		pid := x.daemon.PID()
		if f.site != "" {
			pid, err = x.bed.ServicePID(f.site, f.what)
		}
		if err == nil && pid != 0 {
			err = syscall.Kill(pid, syscall.SIGSTOP)
		}
		mend = func() error {
			if pid == 0 {
				return nil
			}
			return syscall.Kill(pid, syscall.SIGCONT)
		}
	case f.how == "cut":
		err = x.bed.Link(ctx, f.site, bed.LinkCut)
		mend = func() error { return x.bed.Link(context.WithoutCancel(ctx), f.site, bed.LinkHeal) }
	default:
		err = x.bed.KillService(f.site, f.what)
		mend = func() error { return x.bed.StartService(context.WithoutCancel(ctx), f.site, f.what) }
	}
	if err != nil {
		x.t.Errorf("%s %s %s: %v", f.how, f.site, f.what, err)
		return
	}
	sleep(ctx, lasts)
	if err := mend(); err != nil { // one that needs another which is dead just now: startAll comes at the end
		x.t.Logf("mend %s %s %s: %v", f.how, f.site, f.what, err)
	}
	f.to = time.Now()
	x.mu.Lock()
	x.faults = append(x.faults, f)
	x.mu.Unlock()
	if f.how == "kill" && f.what == "slurmctld" {
		x.world.mu.Lock()
		x.controllerKills = append(x.controllerKills, Kill{Site: federation.SiteName(f.site), From: f.from, To: f.to})
		x.world.mu.Unlock()
	}
}

// startAll starts what does not run.
func (x *campaign) startAll(ctx context.Context) {
	if x.daemon.PID() == 0 {
		if err := x.daemon.Start(x.t.Context()); err != nil {
			x.t.Error(err)
		}
	}
	for _, s := range bed.Sites {
		if !slices.Contains(x.sites, s.Name) {
			continue
		}
		names := []string{"mariadb", "slurmdbd", "slurmctld", "slurmrestd"}
		for _, n := range s.NodeNames() {
			names = append(names, "slurmd:"+n)
		}
		for _, name := range names {
			if err := x.bed.StartService(ctx, s.Name, name); err != nil {
				x.t.Errorf("start %s at %s: %v", name, s.Name, err)
			}
		}
	}
}

// drains are the nodes that a site shows as drained or DOWN: "SITE NODE STATE REASON".
func (x *campaign) drains(ctx context.Context) (out []string) {
	for _, site := range x.sites {
		text, err := x.bed.Output(ctx, site, "", "sinfo", "-h", "-N", "-o", "%N|%T|%E")
		if err != nil {
			continue // the controller is dead just now
		}
		for line := range strings.Lines(text) {
			node, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
			state, reason, _ := strings.Cut(rest, "|")
			if s := strings.ToLower(state); strings.Contains(s, "drain") || strings.Contains(s, "down") {
				if line := strings.Join([]string{site, node, state, reason}, " "); !slices.Contains(out, line) {
					out = append(out, line)
				}
			}
		}
	}
	return out
}

// watchDrains notes which nodes were ever drained, or DOWN.
func (x *campaign) watchDrains(ctx context.Context) {
	for sleep(ctx, 2*time.Second) {
		seen := x.drains(ctx)
		x.mu.Lock()
		for _, line := range seen {
			if x.drained == nil {
				x.drained = map[string]bool{}
			}
			x.drained[line] = true
		}
		x.mu.Unlock()
	}
}

// watchSites notes when the daemon has looked again at a site that a fault was at.
func (x *campaign) watchSites(ctx context.Context) {
	c := x.daemon.Client()
	defer c.Close()
	for sleep(ctx, 200*time.Millisecond) {
		asking, cancel := context.WithTimeout(ctx, 5*time.Second)
		sites, err := c.Sites(asking)
		cancel()
		if err != nil {
			continue
		}
		now := time.Now()
		x.mu.Lock()
		for i := range x.faults {
			f := &x.faults[i]
			if f.seen {
				continue
			}
			f.seen = !slices.ContainsFunc(sites, func(s v1.Site) bool {
				return (f.site == "" || f.site == string(s.Name)) && (!s.Answering || !s.Seen.After(f.to))
			})
			if f.seen {
				x.back = append(x.back, now.Sub(f.to))
			}
		}
		x.mu.Unlock()
	}
}

// settle waits until all jobs have ended and no node is drained.
func (x *campaign) settle(ctx context.Context, subs []*Submission) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 25*time.Minute)
	defer cancel()
	x.awaitEnds(ctx, subs)
	var left []string
	for {
		if left = x.drains(ctx); len(left) == 0 || !sleep(ctx, 2*time.Second) {
			break
		}
	}
	x.t.Logf("no node was drained or DOWN any more after %v", time.Since(begun).Round(time.Second))
	if len(left) > 0 {
		x.t.Errorf("these nodes are left drained or DOWN:\n%s", strings.Join(left, "\n"))
	}
}

// judgeAll compares the records with what has run, and prints what came of it.
func (x *campaign) judgeAll(subs []*Submission, begun time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	c := x.daemon.Client()
	defer c.Close()
	count := map[Kind]int{}
	jobs, tasks, restartless := 0, 0, 0
	var falsely []string
	var again []time.Duration
	for _, s := range subs {
		if s.ID == 0 {
			continue
		}
		jobs++
		for _, one := range x.tasksOf(ctx, c, s) {
			tasks++
			rec, runs, v := x.judgeOne(ctx, c, one)
			count[v.Kind]++
			for i := range runs {
				if i > 0 {
					if from, ok := x.lostBy(runs[i-1], runs[i]); ok {
						again = append(again, runs[i].Begin.Sub(from))
					} else if v.Kind != Broken {
						falsely = append(falsely, fmt.Sprintf("job %d: %v, then %v: %v", rec.Job.ID, runs[i-1], runs[i], texts(rec)))
					}
					if _, blind := excusesOf(rec); runs[i].Restart == 0 && !blind && siteRepeats(runs[i-1:i+1], x.controllerKills) == 0 {
						restartless++
						x.t.Errorf("job %d: its second run has no SLURM_RESTART_COUNT: %v, then %v", rec.Job.ID, runs[i-1], runs[i])
					}
				}
			}
		}
	}
	x.checkSites(ctx)
	struck := map[string]int{}
	for _, f := range x.faults {
		what, _, _ := strings.Cut(f.what, ":")
		struck[f.how+" "+what]++
	}
	drained := 0
	for line := range x.drained {
		x.t.Logf("was seen: %s", line)
		if strings.Contains(line, "drain") {
			drained++
		}
	}
	x.t.Logf("SUMMARY seed %d, %v: %d faults %v; %d jobs acknowledged, %d tasks; ran once %d, reruns explained %d, NODE_FAIL by --no-requeue %d, "+
		"--no-requeue and submitted again because nothing told that it had started %d, refused for its number %d, started again by a controller before anybody could see it %d, "+
		"end unheard by the controller %d, script removed by slurmd %d, broken %d; recoveries to which nothing had happened %d; second runs without a restart count %d; drains seen %d",
		x.seed, time.Since(begun).Round(time.Second), len(x.faults), struck, jobs, tasks, count[Once], count[Rerun], count[NodeFailed], count[RerunBlindly], count[NumberTaken],
		count[RerunUnseen], count[EndUnheard], count[ScriptGone], count[Broken], len(falsely), restartless, drained)
	x.t.Logf("recovery: the daemon has looked at a site again %s after a fault there; a job that was lost runs again %s after the fault", percentiles(x.back), percentiles(again))
	for _, f := range falsely {
		x.t.Errorf("a recovery to which nothing had happened: %s", f)
	}
	if jobs == 0 || len(x.faults) < 10 {
		x.t.Error("nothing was tested")
	}
}

func percentiles(d []time.Duration) string {
	if len(d) == 0 {
		return "(none)"
	}
	slices.Sort(d)
	return fmt.Sprintf("p50 %.1f s, p95 %.1f s (%d)", d[len(d)/2].Seconds(), d[len(d)*95/100].Seconds(), len(d))
}

func texts(rec *client.JobRecord) (out []string) {
	for _, e := range rec.Events {
		out = append(out, e.Text)
	}
	return out
}

// unanswered gives the submissions that were accepted, but whose answer was lost, their IDs.
func (x *campaign) unanswered(ctx context.Context, subs []*Submission) {
	c := x.daemon.Client()
	defer c.Close()
	jobs, err := client.List(ctx, c, &v1.Jobs, v1.JobQuery{})
	ended, err2 := client.List(ctx, c, &v1.Jobs, v1.JobQuery{Where: []string{"state=ENDED"}})
	if err := errors.Join(err, err2); err != nil {
		x.t.Fatal(err)
	}
	byToken := map[string]*Submission{}
	for _, s := range subs {
		byToken[s.Token] = s
	}
	for _, j := range append(jobs, ended...) {
		s := byToken[j.Name]
		switch {
		case s == nil:
			x.t.Errorf("job %d (%s) is in the books and nobody has submitted it", j.ID, j.Name)
		case s.ID == 0:
			s.ID = j.ID
			if j.Array != 0 {
				s.ID = j.Array
			}
		}
	}
}

// tasksOf are the tasks of an array, each as a submission of its own; else it is s alone.
func (x *campaign) tasksOf(ctx context.Context, c *client.Client, s *Submission) []*Submission {
	if s.Tasks == 0 {
		return []*Submission{s}
	}
	rec, err := c.Job(ctx, s.ID)
	if err != nil {
		x.t.Errorf("array %d (%s) was acknowledged: %v", s.ID, s.Token, err)
		return nil
	}
	if len(rec.Tasks) != s.Tasks {
		x.t.Errorf("array %d (%s) has %d tasks, of %d", s.ID, s.Token, len(rec.Tasks), s.Tasks)
	}
	var out []*Submission
	for _, task := range rec.Tasks {
		one := *s
		one.ID, one.Task = federation.JobID(task.SiteJobID), task.Index
		out = append(out, &one)
	}
	return out
}

func (x *campaign) judgeOne(ctx context.Context, c *client.Client, s *Submission) (*client.JobRecord, []Run, Verdict) {
	rec, err := c.Job(ctx, s.ID)
	if err != nil {
		x.t.Errorf("job %d (%s) was acknowledged: %v", s.ID, s.Token, err)
		return &client.JobRecord{}, nil, Verdict{Kind: Broken}
	}
	runs, err := s.Runs()
	if err != nil {
		x.t.Error(err)
	}
	runs = slices.DeleteFunc(runs, func(r Run) bool { return s.Tasks > 0 && r.Task != s.Task })
	v := Check(s, rec, runs, x.controllerKills)
	if v.Kind == Broken && x.told < 20 {
		x.told++
		x.explain(ctx, s, rec, runs, v)
	} else if v.Kind == Broken {
		x.t.Errorf("job %d (%s): %s", s.ID, s.Token, v.Why)
	}
	return rec, runs, v
}

// lostBy is when something happened to the site of a run that may have lost it, before the next one began.
func (x *campaign) lostBy(a, b Run) (at time.Time, ok bool) {
	end := a.End
	if end.IsZero() {
		end = b.Begin
	}
	for _, f := range x.faults {
		mine := f.site == string(a.Site) && (f.what == "slurmctld" || strings.HasPrefix(f.what, "slurmd:"))
		if mine && f.from.Before(end.Add(saves)) && f.to.After(a.Begin.Add(-saves)) && f.from.Before(b.Begin) && f.from.After(at) {
			at, ok = f.from, true
		}
	}
	return at, ok
}
