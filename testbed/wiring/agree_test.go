package wiring

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/place"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/testbed/bed"
	"fsub/topology"
)

// versions are those of the sites.
var versions = map[string]string{"alpha": "24.11.5", "gamma": "26.05.5", "delta": "22.05.8"}

// layout is one way in which the eight nodes of a site are wired.
type layout struct{ name, plugin, conf string }

// full: in all layouts, many times.
var full = os.Getenv("FSUB_FULL") != ""

// layouts of a site: in some the nodes are too many for one aggregated block, a size is skipped, switches have nothing in common, or know not every node.
func layouts(site string) []layout {
	const blocks = "BlockName=b1 Nodes=%[1]s[1-2]\nBlockName=b2 Nodes=%[1]s[3-4]\nBlockName=b3 Nodes=%[1]s[5-6]\nBlockName=b4 Nodes=%[1]s[7-8]\n"
	all := []layout{
		{"tree", "tree", "SwitchName=l1 Nodes=%[1]s[1-3]\nSwitchName=l2 Nodes=%[1]s[4-5]\nSwitchName=l3 Nodes=%[1]s[6-8]\nSwitchName=mid Switches=l[1-2]\nSwitchName=top Switches=mid,l3\n"},
		{"two trees", "tree", "SwitchName=l1 Nodes=%[1]s[1-2]\nSwitchName=l2 Nodes=%[1]s[3-4]\nSwitchName=l3 Nodes=%[1]s[5-8]\nSwitchName=top Switches=l[1-2]\n"},
		{"block 2,4", "block", blocks + "BlockSizes=2,4\n"},
		{"block 2,8", "block", blocks + "BlockSizes=2,8\n"},
	}
	if full {
		all = append(all,
			layout{"half a tree", "tree", "SwitchName=l1 Nodes=%[1]s[1-3]\nSwitchName=l2 Nodes=%[1]s[4-7]\nSwitchName=top Switches=l[1-2]\n"},
			layout{"block 2", "block", blocks + "BlockSizes=2\n"},
			layout{"block 4", "block", "BlockName=b1 Nodes=%[1]s[1-4]\nBlockName=b2 Nodes=%[1]s[5-8]\nBlockSizes=4\n"})
	}
	if site == "delta" { // 22.05 has no topology/block
		all = slices.DeleteFunc(all, func(l layout) bool { return l.plugin == "block" })
	}
	for i := range all {
		all[i].conf = fmt.Sprintf(all[i].conf, site)
	}
	return all
}

// asks are what gangs want of the wiring.
func asks(site string) [][]string {
	all := [][]string{{"-N2"}, {"-N3"}, {"-N4"}, {"-N5"}, {"-N6"}, {"-N7"},
		{"-N2", "--switches=1"}, {"-N3", "--switches=1"}, {"-N4", "--switches=1"}, {"-N4", "--switches=2"}, {"-N5", "--switches=2"},
		{"-N2", "--contiguous"}, {"-N3", "--contiguous"}, {"-N4", "--contiguous"}, {"-N4", "--contiguous", "--switches=1"}}
	if site == "delta" {
		return all
	}
	return append(all, [][]string{{"-N2", "--segment=2"}, {"-N4", "--segment=2"}, {"-N6", "--segment=2"}, {"-N4", "--segment=1"}, {"-N3", "--segment=2"}, {"-N2", "--segment=4"},
		{"-N4", "--segment=4"}, {"-N3", "--segment=3"}, {"-N6", "--segment=3"}, {"-N8", "--segment=4"},
		{"-N1", "--exclusive=topo"}, {"-N2", "--exclusive=topo"}, {"-N3", "--exclusive=topo"}, {"-N4", "--exclusive=topo"}}...)
}

// state is what the nodes of a site are doing.
type state struct {
	names []string
	busy  []bool
	gone  []bool // drained
}

func (s *state) free() (free []int32) {
	for n := range s.names {
		if !s.busy[n] && !s.gone[n] {
			free = append(free, int32(n))
		}
	}
	return free
}

// TestAsSlurmctldChooses has real controllers start gangs, some with options about the wiring, where some nodes are busy and some drained, and asks
// placement whether they start, and topology where.
func TestAsSlurmctldChooses(t *testing.T) {
	world.Need(t)
	rounds := 1
	if full {
		rounds = 12
	}
	for _, site := range []string{"alpha", "gamma", "delta"} {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			for _, l := range layouts(site) {
				if err := wire(t.Context(), site, l.plugin, l.conf); err != nil {
					t.Fatal(err)
				}
				var sum tally
				for round := range rounds {
					compare(t, site, l, rand.New(rand.NewPCG(uint64(round), uint64(len(l.name)))), &sum)
				}
				t.Logf("%s %s: %+v", versions[site], l.name, sum)
				if sum.started == 0 || sum.closer > sum.started/2 {
					t.Errorf("%s %s: too often slurmctld does something else", versions[site], l.name)
				}
			}
		})
	}
}

// tally counts gangs.
type tally struct {
	asked, started, differs int
	wired                   int // started, and where that was compared
	nodes                   int // of them on the very nodes that we foresee
	closer                  int // got nodes farther apart than those: topology/tree now and then takes a switch more than it needs
}

func compare(t *testing.T, site string, l layout, random *rand.Rand, sum *tally) {
	s := &state{busy: make([]bool, nodes), gone: make([]bool, nodes)}
	for n := range nodes {
		s.names = append(s.names, fmt.Sprintf("%s%d", site, n+1))
		switch r := random.IntN(8); {
		case r == 0:
			s.gone[n] = true
		case r == 1 && n < 7: // the last is in no switch of half a tree, and so of no use there
			s.busy[n] = true
		}
	}
	set(t, site, s)
	defer reset(t, site, s)
	text := root(t, site, "scontrol", "show", "topology")
	wired, err := topology.Parse(text)
	if err != nil || wired.Kind() != l.plugin {
		t.Fatalf("%s: %v, %v\n%s", l.plugin, wired, err, text)
	}
	x := wired.Index(s.names)
	for _, args := range asks(site) {
		theirs, said := starts(t, site, s, args)
		if strings.Contains(said, "salloc: fatal: --segment") {
			continue // 26.05's commands refuse it; slurmctld is not asked
		}
		spec := parse(t, args)
		ours, why := planned(t, site, wired, s, spec)
		for try := 0; try < 2 && ours && theirs == nil; try++ { // its nodes may not have been ready yet
			theirs, said = starts(t, site, s, args)
		}
		what := fmt.Sprintf("%s %s: %v on %v of which are free %v", versions[site], l.name, args, s.names, s.free())
		sum.asked++
		if ours != (theirs != nil) {
			sum.differs++
			t.Errorf("%s: slurmctld starts it on %v (%s); we say %v (%s)", what, theirs, said, ours, why)
			continue
		}
		if theirs == nil {
			continue
		}
		sum.started++
		if spec.Exclusive == "topo" {
			continue
		}
		sum.wired++
		ask := wants(spec, x)
		if _, _, ok := x.Chooser().Choose(theirs, ask, nil); !ok {
			t.Errorf("%s: slurmctld starts it on %v, which we would not allow", what, theirs)
		}
		foreseen, span, ok := x.Chooser().Choose(s.free(), ask, nil)
		switch worse := span.Worse(x.Span(theirs)); {
		case !ok || worse > 0 && !ask.Contiguous:
			t.Errorf("%s: slurmctld takes %v, %+v; we say %v, %+v", what, theirs, x.Span(theirs), foreseen, span)
		case worse < 0:
			sum.closer++
		}
		slices.Sort(foreseen)
		if slices.Equal(foreseen, theirs) {
			sum.nodes++
		} else {
			t.Logf("%s: slurmctld takes %v; we foresee %v", what, theirs, foreseen)
		}
	}
}

// wants is what a job asks of the wiring, as far as the topology plugin heeds it.
func wants(spec *sbatch.Spec, x *topology.Index) topology.Ask {
	a := topology.Ask{Nodes: spec.MinNodes}
	var more sbatch.More
	if spec.More != nil {
		more = *spec.More
	}
	if x.Blocks() {
		a.Segment = more.Segment
	} else if a.Contiguous = more.Contiguous; !a.Contiguous {
		a.Leaves, a.Joined = spec.Switches, true
	}
	return a
}

func parse(t *testing.T, args []string) *sbatch.Spec {
	t.Helper()
	args = append(slices.Clone(args), "-t5", "--wrap", "true")
	if !slices.Contains(args, "--exclusive=topo") {
		args = append(args, "--exclusive")
	}
	req, err := sbatch.Parse(sbatch.Input{Args: args, Dir: "/tmp", Now: time.Unix(1e9, 0), Env: []string{"USER=alice"}})
	if err != nil {
		t.Fatal(err)
	}
	return &req.Spec
}

// set drains nodes and makes others busy.
func set(t *testing.T, site string, s *state) {
	t.Helper()
	for n, name := range s.names {
		if s.gone[n] {
			root(t, site, "scontrol", "update", "NodeName="+name, "State=DRAIN", "Reason=wiring")
		}
		if s.busy[n] {
			if _, err := world.Bed.Output(t.Context(), site, "bob", "sbatch", "--exclusive", "-w", name, "-N1", "-t10", "-o", "/dev/null", "--wrap", "sleep 1000"); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, site, s)
}

func reset(t *testing.T, site string, s *state) {
	t.Helper()
	root(t, site, "scancel", "-u", "bob")
	for n, name := range s.names {
		if s.gone[n] {
			root(t, site, "scontrol", "update", "NodeName="+name, "State=RESUME")
		}
	}
	await(t, site, &state{busy: make([]bool, nodes), gone: make([]bool, nodes)})
}

func root(t *testing.T, site string, args ...string) string {
	t.Helper()
	out, err := world.Bed.Output(context.WithoutCancel(t.Context()), site, "", args...)
	if err != nil {
		t.Errorf("%v: %v", args, err)
	}
	return out
}

// await returns when the nodes do what they should.
func await(t *testing.T, site string, s *state) {
	t.Helper()
	want := map[string]string{}
	for n, name := range s.names {
		want[name] = "idle"
		if s.gone[n] {
			want[name] = "drained"
		}
		if s.busy[n] {
			want[name] = "allocated"
		}
	}
	var seen string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		seen = root(t, site, "sinfo", "-h", "-N", "-p", "main", "-o", "%N %T")
		right := true
		for line := range strings.Lines(seen) {
			name, is, _ := strings.Cut(strings.TrimSpace(line), " ")
			if len(want) == 0 && is != "idle" || len(want) > 0 && want[name] != is {
				right = false
			}
		}
		if right {
			return
		}
	}
	t.Fatalf("%s: want %v, nodes are\n%s", site, want, seen)
}

// starts are the nodes on which slurmctld starts a gang at once; nil if it does not. Of 26.05.5's salloc one in a thousand never comes back: what it may hold is taken from it, and
// another one asks.
func starts(t *testing.T, site string, s *state, ask []string) (on []int32, said string) {
	t.Helper()
	args := []string{"timeout", "--signal=KILL", "10", "salloc", "--immediate=1", "-t5", "-Q"}
	if !slices.Contains(ask, "--exclusive=topo") {
		args = append(args, "--exclusive")
	}
	args = append(append(args, ask...), "printenv", "SLURM_JOB_NODELIST")
	var out, errs strings.Builder
	for hung := 0; ; hung++ {
		out.Reset()
		errs.Reset()
		err := world.Bed.Exec(t.Context(), bed.Cmd{Site: site, User: "alice", Args: args, Stdout: &out, Stderr: &errs})
		var exit interface{ ExitCode() int }
		if killed := errors.As(err, &exit) && exit.ExitCode() == 128+int(syscall.SIGKILL); killed {
			t.Logf("%s: salloc %v was killed; it had printed %q", site, ask, out.String())
			root(t, site, "scancel", "-u", "alice")
			await(t, site, s)
			if out.Len() == 0 && hung < 3 {
				continue
			}
		}
		if out.Len() == 0 {
			return nil, fmt.Sprint(strings.TrimSpace(errs.String()), err)
		}
		break
	}
	list, err := hostlist.Expand(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		on = append(on, int32(slices.Index(s.names, name)))
	}
	await(t, site, s)
	return on, ""
}

// planned asks placement whether a gang starts at once.
func planned(t *testing.T, site string, tree topology.Tree, s *state, spec *sbatch.Spec) (starts bool, why string) {
	t.Helper()
	now := time.Unix(1e9, 0)
	obs := &federation.Observation{At: now, Version: versions[site], Tree: tree}
	part := federation.Partition{Name: "main", Default: true, Up: true, State: "UP", Nodes: s.names}
	for n, name := range s.names {
		node := federation.Node{Name: name, State: []string{"IDLE"}, CPUs: 4, Mem: 16000, Threads: 1, Partitions: []string{"main"}}
		if s.gone[n] {
			node.State = []string{"IDLE", "DRAIN"}
		}
		if s.busy[n] {
			node.State, node.CPUsUsed = []string{"ALLOCATED"}, 4
			obs.Running = append(obs.Running, federation.RunningJob{Job: federation.JobID(100 + n), End: now.Add(10 * time.Minute), Nodes: []string{name}, CPUs: 4})
		}
		obs.Nodes = append(obs.Nodes, node)
	}
	obs.Partitions = []federation.Partition{part}
	at := &federation.Site{Name: federation.SiteName(site), State: federation.FedActive, Answering: true, Seen: obs, Prices: accounting.Prices{"cpu": 0.01}}
	at.Pools = place.Pools(at.Name, obs)
	job := &federation.Job{ID: 1, User: "alice", State: federation.Pending, Spec: spec, Submit: now}
	d := place.Plan(federation.Snapshot{Now: now, Sites: []*federation.Site{at}, Jobs: []*federation.Job{job}}, place.DefaultPolicy()).Decisions[0]
	if len(d.Offers) > 0 {
		return d.Bind && d.Offers[0].Wait == 0, fmt.Sprint(d.Reason)
	}
	for _, r := range d.Rejections {
		why += r.Text() + "; "
	}
	return false, why
}
