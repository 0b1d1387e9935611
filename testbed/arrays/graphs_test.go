package arrays

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// graph is some jobs that wait for each other. Those that wait for none are held until all are submitted; then they are released, or cancelled.
type graph struct {
	seed uint64
	jobs []vertex
}

// vertex is one job of a graph.
type vertex struct {
	exit   int
	kill   string   // of --kill-on-invalid-dep; "": not said
	edges  []string // "afterok:2": job 2 of the graph
	any    bool     // one of the edges is enough
	cancel bool     // it waits for none, and is cancelled
}

func newGraph(seed uint64) *graph {
	r := rand.New(rand.NewPCG(seed, 23))
	g := &graph{seed: seed}
	for i := range 4 + r.IntN(9) {
		v := vertex{any: r.IntN(4) == 0, kill: []string{"", "", "yes", "no"}[r.IntN(4)]}
		if r.IntN(3) == 0 {
			v.exit = 3
		}
		if i > 0 && r.IntN(6) > 0 {
			for _, other := range r.Perm(i)[:1+r.IntN(min(3, i))] {
				kind := []string{"afterok", "afterok", "afternotok", "afterany", "after"}[r.IntN(5)]
				v.edges = append(v.edges, kind+":"+strconv.Itoa(other))
			}
		} else {
			v.cancel = r.IntN(5) == 0
		}
		g.jobs = append(g.jobs, v)
	}
	return g
}

func (g *graph) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\n", g.seed)
	for i := range g.jobs {
		fmt.Fprintf(&b, "%2d %+v\n", i, g.jobs[i])
	}
	return b.String()
}

// options are those of a job of the graph, of which the earlier ones have ids.
func (v *vertex) options(ids []string) []string {
	o := []string{"-n1", "--mem=50", "-t5", "-o", "/dev/null"}
	if v.kill != "" {
		o = append(o, "--kill-on-invalid-dep="+v.kill)
	}
	if len(v.edges) == 0 {
		return append(o, "-H")
	}
	sep := ","
	if v.any {
		sep = "?"
	}
	edges := make([]string, len(v.edges))
	for i, e := range v.edges {
		kind, other, _ := strings.Cut(e, ":")
		n, _ := strconv.Atoi(other)
		edges[i] = kind + ":" + ids[n]
	}
	return append(o, "--dependency="+strings.Join(edges, sep))
}

// states tells what became of the jobs of a graph, and whether more may become of them without anybody's doing.
func (s *side) states(t *testing.T, ids []string) (states []string, calm bool) {
	calm = true
	waits := map[string]bool{}
	for line := range strings.Lines(s.run(t, "squeue", "-h", "-t", "all", "-j", strings.Join(ids, ","), "-o", "%A|%t|%r").stdout) {
		f := strings.SplitN(strings.TrimSpace(line), "|", 3)
		switch {
		case len(f) < 3:
		case f[1] == "PD":
			waits[f[0]] = true
			calm = calm && (f[2] == "Dependency" || f[2] == "DependencyNeverSatisfied")
		case f[1] == "R" || f[1] == "CG" || f[1] == "CF":
			calm = false
		}
	}
	recorded := map[string]string{}
	for line := range strings.Lines(s.run(t, "sacct", "-X", "-P", "-n", "-j", strings.Join(ids, ","), "-o", "jobid,state,exitcode").stdout) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), "|")
		state, code, _ := strings.Cut(rest, "|")
		state, _, _ = strings.Cut(state, " ") // CANCELLED by UID
		recorded[id] = state + " " + code
	}
	for i, id := range ids {
		state := recorded[id]
		if waits[id] {
			state = "PENDING"
		}
		if state == "" || strings.HasPrefix(state, "RUNNING") {
			calm = false
		}
		states = append(states, fmt.Sprintf("%d %s", i, state))
	}
	return states, calm
}

// TestRandomGraphs submits graphs of jobs by sbatch and by ours, and compares what became of each job: whether it ran, waits for ever or was cancelled.
func TestRandomGraphs(t *testing.T) {
	world.Need(t)
	t.Parallel()
	tries, first := map[string]int{"alpha": 4}, uint64(1)
	if os.Getenv("FSUB_FULL") != "" {
		tries, first = map[string]int{"alpha": 60, "gamma": 20, "delta": 20}, uint64(time.Now().Unix())
	}
	if *count > 0 {
		tries = map[string]int{*where: *count}
	}
	if *seed != 0 {
		first = *seed
	}
	for site, n := range tries {
		turn := make(chan bool, atOnce)
		for i := range n {
			g := newGraph(first + uint64(i))
			t.Run(fmt.Sprintf("%s/%d", site, g.seed), func(t *testing.T) {
				t.Parallel()
				turn <- true
				defer func() { <-turn }()
				g.compare(t, site)
			})
		}
	}
}

func (g *graph) compare(t *testing.T, site string) {
	sides := [2]*side{newSide(t, "sbatch", site, "g"+fmt.Sprint(g.seed)), newSide(t, "fsub", site, "g"+fmt.Sprint(g.seed))}
	var ids [2][]string
	for i, s := range sides {
		for n := range g.jobs {
			v := &g.jobs[n]
			out := s.run(t, append(append([]string{"sbatch", "--parsable"}, v.options(ids[i])...), "--wrap", fmt.Sprintf("exit %d", v.exit))...)
			if out.code != 0 {
				t.Fatalf("%s: job %d: %s\n%s", s.name, n, out.stderr, g)
			}
			id := strings.TrimSpace(out.stdout)
			ids[i] = append(ids[i], id)
			s.ids[id] = id
			t.Cleanup(func() { s.cancel(id) })
		}
	}
	for i, s := range sides {
		for n := range g.jobs {
			switch v := &g.jobs[n]; {
			case v.cancel:
				s.run(t, "scancel", ids[i][n])
			case len(v.edges) == 0:
				s.run(t, "scontrol", "release", ids[i][n])
			}
		}
	}
	var states [2][]string
	for until := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		var calm [2]bool
		for i, s := range sides {
			states[i], calm[i] = s.states(t, ids[i])
		}
		if calm[0] && calm[1] && slices.Equal(states[0], states[1]) {
			break
		}
		if time.Now().After(until) {
			t.Errorf("what became of the jobs (-sbatch +fsub), calm %v:\n%s%s", calm, cmp.Diff(states[0], states[1]), g)
			for _, id := range slices.Sorted(maps.Keys(sides[1].ids)) {
				t.Log(sides[1].run(t, "squeue", "-j", id).stdout)
			}
			return
		}
	}
}
