package choice

import (
	"cmp"
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
)

// local is a job that somebody submits at a site.
type local struct {
	at, run      int // seconds since the stream began
	nodes, limit int // minutes
}

// stream are the local jobs of a site in one run: some at once, so many that they keep all nodes for half a minute to two, then as many as end. Users
// ask for more time than they need, some for much more.
func stream(rnd *rand.Rand, nodes int) (jobs []local) {
	limits := []int{1, 2, 2, 3, 5, 10, 20}
	job := func(at int) local {
		j := local{at, 8 + rnd.IntN(33), 1, limits[rnd.IntN(len(limits))]}
		if rnd.IntN(5) == 0 {
			j.nodes = 2
		}
		return j
	}
	work := 0
	for queued := nodes * (50 + rnd.IntN(100)); work < queued; {
		j := job(0)
		work += j.run * j.nodes
		jobs = append(jobs, j)
	}
	for at := 0; at < 300; {
		j := job(at)
		at += (j.run*j.nodes + nodes - 1) / nodes
		jobs = append(jobs, j)
	}
	return jobs
}

// replay has bob submit jobs at a site at their times, and returns what ends them all.
func replay(t *testing.T, site string, jobs []local) (end func()) {
	t.Helper()
	slices.SortStableFunc(jobs, func(a, b local) int { return cmp.Compare(a.at, b.at) })
	var script strings.Builder
	script.WriteString("cd; at() { while [ $SECONDS -lt $1 ]; do sleep 0.1; done; }\n")
	for _, j := range jobs {
		fmt.Fprintf(&script, "at %d; sbatch -Q --exclusive -N%d -t%d -o /dev/null --wrap 'sleep %d'\n", j.at, j.nodes, j.limit, j.run)
	}
	stop := run(t, site, "bob", script.String())
	return func() {
		stop()
		at(t, site, "bob", "scancel", "-u", "bob")
		for deadline := time.Now().Add(time.Minute); at(t, site, "", "squeue", "-h", "-o", "%i") != "" || strings.Trim(at(t, site, "", "sinfo", "-h", "-p", "main", "-t", "alloc,comp,mix", "-o", "%D"), "0") != ""; time.Sleep(time.Second) {
			if time.Now().After(deadline) {
				t.Errorf("%s does not become empty:\n%s", site, at(t, site, "", "squeue"))
				return
			}
		}
	}
}

// pair is one comparison: a job that is submitted after so many seconds of the two streams, by fsub, and by sbatch at each site.
type pair struct {
	run   int
	sites [2]string
	ours  time.Duration
	chose string
	said  string // what was foretold for each site
	by    [2]time.Duration
}

func (p *pair) better() time.Duration { return min(p.by[0], p.by[1]) }
func (p *pair) ratio() float64        { return p.ours.Seconds() / p.better().Seconds() }

// measure replays the same streams twice, first for fsub: the daemon must not have seen them before.
func measure(t *testing.T, n int, sites [2]string) *pair {
	p := &pair{run: n, sites: sites}
	var streams [2][]local
	rnd := rand.New(rand.NewPCG(uint64(n), 12))
	for i, s := range sites {
		nodes, _ := strconv.Atoi(at(t, s, "", "sinfo", "-h", "-p", "main", "-o", "%D"))
		streams[i] = stream(rand.New(rand.NewPCG(uint64(n), uint64(s[0]))), nodes)
	}
	after := time.Duration(20+rnd.IntN(15)) * time.Second
	begin := func() (end func()) {
		ends := [2]func(){replay(t, sites[0], streams[0]), replay(t, sites[1], streams[1])}
		time.Sleep(after)
		return func() {
			ends[0]()
			ends[1]()
		}
	}
	job := []string{"--exclusive", "-N1", "-t5", "-o", "/dev/null", "--wrap"}

	end := begin()
	command, read := began(t)
	from := time.Now()
	id := submit(t, append([]string{"--fed-sites=" + sites[0] + "," + sites[1]}, append(job, command)...)...)
	p.ours = awaitStart(t, fmt.Sprintf("job %d", id), read).Sub(from)
	p.chose, p.said = told(t, id)
	end()

	end = begin()
	var both sync.WaitGroup
	for i, s := range sites {
		both.Go(func() {
			command, read := began(t)
			from := time.Now()
			at(t, s, "alice", append([]string{"sbatch"}, append(job, command)...)...)
			p.by[i] = awaitStart(t, "a job at "+s, read).Sub(from)
		})
	}
	both.Wait()
	end()
	return p
}

// told is where a job ran, and what its attempts were chosen by.
func told(t *testing.T, id federation.JobID) (site, said string) {
	client := world.Daemon.Client()
	defer client.Close()
	r, err := client.Job(t.Context(), id)
	if err != nil {
		t.Error(err)
		return "", ""
	}
	for _, a := range r.Attempts {
		site = string(a.Site)
		said += "[" + site
		for _, o := range a.Decision.Offers {
			said += fmt.Sprintf("; %s $%.4f wait %v", o.Site, float64(o.Total), o.Wait.Round(time.Second))
			if f := o.Foreseen; f != nil {
				said += fmt.Sprintf(" p50 %v p90 %v %s %s", f.P50.Round(time.Second), f.P90.Round(time.Second), f.Of, f.Unsure)
			}
		}
		said += "]"
	}
	return site, said
}

// Jobs of ours that may go to either of two sites with local streams start about as soon as sbatch has them start at the better one, which nobody has named.
func TestChoosesTheBetterQueue(t *testing.T) {
	need(t)
	runs := 5 // of two pairs each
	if n, err := strconv.Atoi(os.Getenv("FSUB_RUNS")); err == nil {
		runs = n
	}
	rounds := [][2][2]string{{{"beta", "gamma"}, {"alpha", "delta"}}, {{"beta", "delta"}, {"alpha", "gamma"}}, {{"alpha", "beta"}, {"gamma", "delta"}}}
	var all []*pair
	for n := range runs {
		var now [2]*pair
		var both sync.WaitGroup
		for i, sites := range rounds[n%len(rounds)] {
			both.Go(func() { now[i] = measure(t, n, sites) })
		}
		both.Wait()
		for _, p := range now {
			t.Logf("run %d: %s: by fsub after %.1f s at %s; by sbatch after %.1f s at %s, %.1f s at %s: %.2fx\n%s", n, p.sites, p.ours.Seconds(), p.chose, p.by[0].Seconds(), p.sites[0], p.by[1].Seconds(), p.sites[1], p.ratio(), p.said)
			all = append(all, p)
		}
		if t.Failed() {
			return
		}
	}
	var ratios []float64
	right := 0
	var sum, best, mean float64
	for _, p := range all {
		ratios = append(ratios, p.ratio())
		if i := slices.Index(p.sites[:], p.chose); i >= 0 && p.by[i] == p.better() {
			right++
		}
		sum, best, mean = sum+p.ours.Seconds(), best+p.better().Seconds(), mean+(p.by[0]+p.by[1]).Seconds()/2
	}
	slices.Sort(ratios)
	n := len(ratios)
	middle := (ratios[(n-1)/2] + ratios[n/2]) / 2
	t.Logf("%d pairs: median %.2fx, all %.2f; the better site was chosen in %d; in all %.0f s by fsub, %.0f s at the better site, %.0f s at either", n, middle, ratios, right, sum, best, mean)
	if middle > 1.1 {
		t.Errorf("our jobs start after %.2fx of what sbatch at the better site gets, want 1.1x", middle)
	}
}
