package once

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/health"
)

// crowded are two sites whose nodes carol's jobs hold all. At the first one more of them wait, so ours wait there too, until the second falls free.
type crowded struct {
	setting
	jobs int
}

// TestMoves has jobs wait at a crowded site until another one falls free, and move there, while daemon and controllers are killed and requests and replies are
// lost. The first site never starts one of them, though its nodes fall free in the end, and the second starts each once, but for those of which a killed
// controller has lost the start. sacct of both sites says the same.
//
// FSUB_FULL=1: 500 moves to a site of another version, and 100 to one that gives numbers of its own, instead of 10. FSUB_ONCE_SEED is the seed of the faults.
func TestMoves(t *testing.T) {
	sets := []crowded{{setting{sites: []string{"alpha", "beta"}}, 10}}
	if os.Getenv("FSUB_FULL") != "" {
		sets = []crowded{{setting{sites: []string{"alpha", "gamma"}}, 500}, {setting{sites: []string{"alpha", "delta"}}, 100}}
	} else {
		t.Log("FSUB_FULL is not set: 10 moves instead of 600")
	}
	for _, set := range sets {
		t.Run(set.sites[1], set.moves)
	}
}

func (set crowded) moves(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED, NOTHING WAS TESTED: real Slurm sites need root")
	}
	if testing.Short() {
		t.Skip("SKIPPED, NOTHING WAS TESTED: -short; this test starts real Slurm sites and takes minutes")
	}
	t.Parallel()
	seed := number(t, "FSUB_ONCE_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("%d jobs; run again with FSUB_ONCE_SEED=%d", set.jobs, seed)
	set.config = map[string]any{"backlog": 10 * set.jobs}
	set.policy = map[string]any{"move_after": "1s", "move_margin": 0}
	w := newWorld(t, set.setting, uint64(seed))
	w.pace, w.lives = 20*time.Millisecond, min(25+time.Duration(set.jobs)/10, 60)*time.Second
	w.model = func(rng *rand.Rand) Submission {
		return Submission{Duration: between(rng, 100*time.Millisecond, 3*time.Second)}
	}
	from, to := w.sites[0], w.sites[1]
	w.crowd(from, 1, "4:00:00")
	w.crowd(to, 0, "2-00:00:00")
	w.seen()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+time.Duration(set.jobs)*2*time.Second)
	defer cancel()

	begun := time.Now()
	subs := w.submit(ctx, set.jobs)
	w.awaitSite(ctx, "all jobs to wait at "+from, func(sites map[federation.SiteName]int) bool { return sites[federation.SiteName(from)] >= set.jobs })
	sleep(ctx, saves) // the controller is not to forget them: they would not move
	w.at(to, "scancel", "-u", "carol")

	faults, stop := context.WithCancel(ctx)
	var torment sync.WaitGroup
	torment.Go(func() { w.killDaemon(faults) })
	for _, site := range w.sites {
		torment.Go(func() { w.killController(faults, site) })
	}
	working, rest := context.WithCancel(ctx)
	var operator sync.WaitGroup
	operator.Go(func() { w.resumeNodes(working) })
	w.lose()
	w.awaitSite(ctx, "no job to wait at "+from, func(sites map[federation.SiteName]int) bool { return sites[federation.SiteName(from)] == 0 })
	t.Logf("all jobs have left %s %v after the first was submitted", from, time.Since(begun).Round(time.Second))
	w.struck(ctx)
	stop()
	torment.Wait()
	w.loseNothing()
	w.registerNodes(ctx)
	w.awaitEnds(ctx, subs)
	w.at(from, "scancel", "-u", "carol") // what is left of ours there would start now
	w.at(to, "scancel", "-u", "carol")   // once more: a controller that was killed right after may have forgotten it
	sleep(ctx, 5*time.Second)
	rest()
	operator.Wait()
	w.check(ctx, subs, begun)
	w.checkMoves(ctx, subs)
}

// crowd has carol hold all nodes of a site until a time limit, and more jobs wait.
func (w *world) crowd(site string, more int, limit string) {
	nodes, err := strconv.Atoi(strings.TrimSpace(w.at(site, "sinfo", "-h", "-p", "main", "-o", "%D")))
	if err != nil {
		w.t.Fatal(err)
	}
	for range nodes + more {
		w.atAs(site, "carol", "sbatch", "--exclusive", "-N1", "-t", limit, "-o", "/dev/null", "--wrap", "sleep 100000")
	}
	for ctx := w.t.Context(); ; {
		rows := w.at(site, "squeue", "-h", "-u", "carol", "-o", "%t")
		if strings.Count(rows, "R") == nodes && strings.Count(rows, "PD") == more {
			return
		}
		if !sleep(ctx, 200*time.Millisecond) {
			w.t.Fatalf("carol's jobs at %s are %q", site, rows)
		}
	}
}

// seen waits until the daemon has looked at all sites.
func (w *world) seen() {
	c := w.daemon.Client()
	defer c.Close()
	for from := time.Now(); ; {
		sites, err := c.Sites(w.t.Context())
		if err == nil && !slices.ContainsFunc(sites, func(s v1.Site) bool { return !s.Seen.After(from) }) {
			return
		}
		if !sleep(w.t.Context(), 200*time.Millisecond) {
			w.t.Fatalf("the daemon does not look at its sites: %v", err)
		}
	}
}

// awaitSite waits until ready says so of how many jobs that have not ended are at which site.
func (w *world) awaitSite(ctx context.Context, what string, ready func(map[federation.SiteName]int) bool) {
	c := w.daemon.Client()
	defer c.Close()
	for {
		asking, cancel := context.WithTimeout(ctx, 5*time.Second)
		jobs, err := client.List(asking, c, &v1.Jobs, v1.JobQuery{})
		cancel()
		sites := map[federation.SiteName]int{}
		for _, j := range jobs {
			if !j.State.Ended() {
				sites[j.Site]++
			}
		}
		if err == nil && ready(sites) {
			return
		}
		if !sleep(ctx, 300*time.Millisecond) {
			w.t.Fatalf("waited for %s: %v %v", what, sites, err)
		}
	}
}

// checkMoves compares what both sites have in their accounting with the jobs' histories.
func (w *world) checkMoves(ctx context.Context, subs []*Submission) {
	subs = slices.DeleteFunc(subs, func(s *Submission) bool { return s.ID == 0 }) // tried in vain
	c := w.daemon.Client()
	defer c.Close()
	from, to := federation.SiteName(w.sites[0]), federation.SiteName(w.sites[1])
	ids := map[federation.SiteName][]string{}
	for _, s := range subs {
		rec, err := c.Job(ctx, s.ID)
		if err != nil {
			w.t.Errorf("job %d: %v", s.ID, err)
			continue
		}
		for _, a := range rec.Attempts {
			if a.SiteJobID != 0 { // else it has never come to its site
				ids[a.Site] = append(ids[a.Site], fmt.Sprint(a.SiteJobID))
			}
		}
	}
	there := map[federation.SiteName]map[uint32][]record{}
	for site, ids := range ids {
		there[site] = w.records(string(site), ids)
	}
	moved, never, untold := 0, map[string]int{}, 0
	var amiss []string // what no kill explains
	for _, s := range subs {
		rec, err := c.Job(ctx, s.ID)
		runs, err2 := s.Runs()
		if err != nil || err2 != nil {
			w.t.Errorf("job %d: %v, %v", s.ID, err, err2)
			continue
		}
		bad := ""
		is, cancelled, excused := false, false, false
		for i, a := range rec.Attempts {
			if a.Site != from {
				continue
			}
			is = is || a.Code == health.CodeMoved
			left := rec.Job.End
			if i+1 < len(rec.Attempts) {
				left = rec.Attempts[i+1].Created
			}
			excused = excused || w.killed(from, a.Created, left.Add(saves))
			if !a.Started.IsZero() {
				bad = "has started at " + w.sites[0]
			}
			for _, r := range there[from][a.SiteJobID] {
				if r.name != s.Token {
					continue
				}
				if r.started() {
					bad = "has started at " + w.sites[0] + " by sacct"
				}
				never[r.state]++
				cancelled = cancelled || r.state == "CANCELLED"
			}
		}
		if is {
			moved++
		}
		switch {
		case excused:
		case !is:
			amiss = append(amiss, fmt.Sprintf("job %d has not moved", s.ID))
		case !cancelled:
			amiss = append(amiss, fmt.Sprintf("job %d has moved, and sacct of %s does not have it as cancelled", s.ID, from))
		}
		if slices.ContainsFunc(runs, func(r Run) bool { return r.Site == from }) {
			bad = "has run at " + w.sites[0]
		}
		starts := 0
		counted := map[uint32]bool{}
		for _, a := range rec.Attempts {
			if a.Site != to || counted[a.SiteJobID] {
				continue
			}
			counted[a.SiteJobID] = true
			for _, r := range there[to][a.SiteJobID] {
				if r.name == s.Token && r.started() {
					starts++
				}
			}
		}
		switch excuses, _ := excusesOf(rec); {
		case starts == 0: // its controller was killed before it had told slurmdbd
			untold++
			if !slices.ContainsFunc(runs, func(r Run) bool { return w.killed(to, r.Begin.Add(-saves), r.Begin.Add(s.Duration+2*saves)) }) {
				amiss = append(amiss, fmt.Sprintf("job %d has no start at %s by sacct", s.ID, to))
			}
		case starts > 1+excuses+siteRepeats(runs, w.controllerKills):
			bad = fmt.Sprintf("has started %d times at %s by sacct, %d by its own word", starts, to, len(runs))
		}
		if bad != "" {
			w.explain(ctx, s, rec, runs, Verdict{Kind: Broken, Why: bad})
		}
	}
	w.t.Logf("MOVES %d of %d jobs from %s to %s; their records at %s: %v; %s has no start of %d of them", moved, len(subs), from, to, from, never, to, untold)
	for _, what := range amiss {
		w.t.Errorf("%s, and no controller was killed then", what)
	}
	// Of few jobs, one kill may hit all.
	if few := len(subs) < 50; moved == 0 || !few && (moved < len(subs)*9/10 || never["CANCELLED"] < moved*9/10 || untold > len(subs)/10) {
		w.t.Errorf("%d of %d jobs have moved, and %s has %v; %s has no start of %d", moved, len(subs), from, never, to, untold)
	}
}

// killed reports whether a site's controller was dead at some time between two.
func (w *world) killed(site federation.SiteName, from, to time.Time) bool {
	return slices.ContainsFunc(w.controllerKills, func(k Kill) bool { return k.Site == site && k.From.Before(to) && k.To.After(from) })
}

// record is a job as slurmdbd has it; there are more of one that was requeued. A controller that was killed may give a number again that it gave a job which
// it has forgotten: so the name tells whose it is.
type record struct{ name, state, nodes string }

func (r record) started() bool { return r.nodes != "" && r.nodes != "None assigned" }

// records are those of some jobs at a site. What was held before it could start is shown to those only who ask for it by its number.
func (w *world) records(site string, ids []string) map[uint32][]record {
	out := map[uint32][]record{}
	for line := range strings.Lines(w.at(site, "sacct", "-D", "-X", "-n", "-P", "-j", strings.Join(ids, ","), "-o", "JobIDRaw,JobName,State,NodeList")) {
		f := strings.Split(strings.TrimSpace(line), "|")
		var id uint32
		if _, err := fmt.Sscan(f[0], &id); err != nil || len(f) != 4 {
			w.t.Errorf("sacct of %s: %q", site, line)
			continue
		}
		state, _, _ := strings.Cut(f[2], " ") // CANCELLED by 0
		out[id] = append(out[id], record{f[1], state, f[3]})
	}
	return out
}

// at runs a command at a site, as root.
func (w *world) at(site string, args ...string) string { return w.atAs(site, "", args...) }

func (w *world) atAs(site, user string, args ...string) string {
	out, err := w.bed.Output(context.WithoutCancel(w.t.Context()), site, user, args...)
	if err != nil {
		w.t.Errorf("%s: %v: %v", site, args, err)
	}
	return out
}
