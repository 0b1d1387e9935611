package wiring

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/hostlist"
	"fsub/testbed/bed"
	"fsub/testbed/suite"
	"fsub/topology"
)

var world suite.Suite

// scontrolAt has this program run scontrol in a site of a bed, as root: DIRECTORY:SITE.
const scontrolAt = "FSUB_WIRING_SCONTROL"

const nodes = 8

func TestMain(m *testing.M) {
	if at := os.Getenv(scontrolAt); at != "" {
		dir, site, _ := strings.Cut(at, ":")
		b, err := bed.New(bed.Options{Dir: dir})
		if err == nil {
			err = b.Exec(context.Background(), bed.Cmd{Site: site, Args: append([]string{"scontrol"}, os.Args[1:]...), Stdout: os.Stdout, Stderr: os.Stderr})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	world.Main(m, suite.Config{Name: "wiring", Sites: []string{"alpha", "gamma", "delta"}, Bed: bed.Options{Nodes: nodes}, Start: start})
}

// start gives gamma leaves of four nodes. Those of alpha and delta have two. Nobody copies that to the daemon: it asks.
func start(ctx context.Context) error {
	if err := world.Programs("fsub", "fed"); err != nil {
		return err
	}
	if err := wire(ctx, "gamma", "tree", "SwitchName=l1 Nodes=gamma[1-4]\nSwitchName=l2 Nodes=gamma[5-8]\nSwitchName=top Switches=l[1-2]\n"); err != nil {
		return err
	}
	err := world.StartDaemon(ctx, func(config map[string]any) {
		for _, s := range config["sites"].([]any) {
			site := s.(map[string]any)
			name := site["name"].(string)
			delete(site, "topology_file")
			delete(site, "speed")
			site["prices"] = map[string]any{"gres/gpu": map[string]float64{"alpha": 2.00, "gamma": 2.10, "delta": 3}[name]}
			site["node_command"] = []string{"/usr/bin/env", scontrolAt + "=" + world.Bed.Dir() + ":" + name, os.Args[0]}
		}
	})
	if err != nil {
		return err
	}
	return world.Daemon.AwaitSites(ctx)
}

// wire gives a site a topology and starts its slurmctld anew.
func wire(ctx context.Context, site, plugin, conf string) error {
	etc := filepath.Join(world.Bed.Dir(), "sites", site, "etc")
	text, err := os.ReadFile(filepath.Join(etc, "slurm.conf"))
	if err != nil {
		return err
	}
	text = regexp.MustCompile(`(?m)^TopologyPlugin=.*$`).ReplaceAll(text, []byte("TopologyPlugin=topology/"+plugin))
	if err := os.WriteFile(filepath.Join(etc, "slurm.conf"), text, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(etc, "topology.conf"), []byte(conf), 0o644); err != nil {
		return err
	}
	if err := world.Bed.StopService(site, "slurmctld"); err != nil {
		return err
	}
	if err := world.Bed.StartService(ctx, site, "slurmctld"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		idle, err := world.Bed.Output(ctx, site, "", "sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D %T")
		if err == nil && strings.TrimSpace(idle) == fmt.Sprintf("%d idle", nodes) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s with topology/%s has not all nodes idle: %q, %v", site, plugin, idle, err)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// A gang goes where it fits under one switch: always if it says so, and otherwise where that is worth the price.
func TestDistanceChoosesTheSite(t *testing.T) {
	world.Need(t)
	for _, c := range []struct {
		name, site, says string
		args             []string
	}{
		{"two nodes go where they are cheapest", "alpha", "", []string{"-N2"}},
		{"four nodes under one switch are only at gamma", "gamma", "2 switches, 4 hops apart: 1.10 x as long", []string{"-N4"}},
		{"they must be under one", "gamma", "4 nodes under one switch, largest leaf has 2", []string{"-N4", "--switches=1@1:00:00", "--fed-traffic=none"}},
		{"their distance does not matter", "alpha", "", []string{"-N4", "--fed-traffic=none"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := fsub(t, append([]string{"fsub", "--gpus-per-node=1", "-t10", "-o", "/dev/null", "--wrap", "true"}, c.args...)...)
			client := world.Daemon.Client()
			defer client.Close()
			for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
				r, err := client.Job(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if r.Job.State == federation.Completed {
					break
				}
				if r.Job.State.Ended() || time.Now().After(deadline) {
					t.Fatalf("job %d is %s %s", id, r.Job.State, r.Job.Reason)
				}
			}
			var explained strings.Builder
			err := world.Bed.Exec(t.Context(), login(&explained, "fed", "explain", id.String()))
			t.Logf("%s\n%s", strings.Join(c.args, " "), explained.String())
			if err != nil || !strings.Contains(explained.String(), "-> "+c.site) || !strings.Contains(explained.String(), c.says) {
				t.Errorf("want %s, and %q: %v", c.site, c.says, err)
			}
		})
	}
}

func login(out *strings.Builder, args ...string) bed.Cmd {
	return bed.Cmd{Site: bed.Login, User: "alice", Args: args, Stdout: out, Stderr: out,
		Env: []string{"PATH=" + world.Bin + ":/usr/bin:/bin", "FSUB_SOCKET=" + world.Daemon.Socket()}}
}

func fsub(t *testing.T, args ...string) federation.JobID {
	t.Helper()
	var out strings.Builder
	err := world.Bed.Exec(t.Context(), login(&out, args...))
	id, bad := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(out.String(), "Submitted batch job ")), 10, 32)
	if err != nil || bad != nil {
		t.Fatalf("%v: %v: %s", args, err, out.String())
	}
	return federation.JobID(id)
}

// TestAsSlurmctldChooses takes some nodes away, and compares where slurmctld would start gangs on the rest with where we say.
func TestAsSlurmctldChooses(t *testing.T) {
	world.Need(t)
	tree := func(n string) string {
		return fmt.Sprintf("SwitchName=l1 Nodes=%[1]s[1-3]\nSwitchName=l2 Nodes=%[1]s[4-5]\nSwitchName=l3 Nodes=%[1]s[6-8]\nSwitchName=mid Switches=l[1-2]\nSwitchName=top Switches=mid,l3\n", n)
	}
	block := func(n string) string {
		return fmt.Sprintf("BlockName=b1 Nodes=%[1]s[1-2]\nBlockName=b2 Nodes=%[1]s[3-4]\nBlockName=b3 Nodes=%[1]s[5-6]\nBlockName=b4 Nodes=%[1]s[7-8]\nBlockSizes=2,4\n", n)
	}
	rounds := 2
	if os.Getenv("FSUB_FULL") != "" {
		rounds = 25
	}
	for _, site := range []string{"alpha", "gamma", "delta"} {
		t.Run(site, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct{ plugin, conf string }{{"tree", tree(site)}, {"block", block(site)}} {
				if site == "delta" && c.plugin == "block" {
					continue // 22.05 has no topology/block
				}
				if err := wire(t.Context(), site, c.plugin, c.conf); err != nil {
					t.Fatal(err)
				}
				compare(t, site, c.plugin, rounds)
			}
		})
	}
}

func compare(t *testing.T, site, plugin string, rounds int) {
	text, err := world.Bed.Output(t.Context(), site, "", "scontrol", "show", "topology")
	if err != nil {
		t.Fatal(err)
	}
	wired, err := topology.Parse(text)
	if err != nil || wired.Kind() != plugin {
		t.Fatalf("%s: %v, %v\n%s", wired.Kind(), wired, err, text)
	}
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", site, i+1)
	}
	x := wired.Index(names)
	random := rand.New(rand.NewPCG(7, uint64(len(site))))
	same, closer := 0, 0
	for range rounds {
		var free []int32
		var gone []string
		for n := range int32(nodes) {
			if random.IntN(4) > 0 {
				free = append(free, n)
			} else {
				gone = append(gone, names[n])
			}
		}
		drain := func(state string) {
			if len(gone) == 0 {
				return
			}
			if _, err := world.Bed.Output(t.Context(), site, "", "scontrol", "update", "NodeName="+strings.Join(gone, ","), "State="+state, "Reason=wiring"); err != nil {
				t.Fatal(err)
			}
		}
		drain("DRAIN")
		for n := 2; n <= len(free); n++ {
			theirs := wouldGet(t, site, names, n)
			if theirs == nil { // blocks that are torn too much
				continue
			}
			_, ours, ok := x.Chooser().Choose(free, topology.Ask{Nodes: n}, nil)
			if !ok {
				t.Errorf("%s %s: %d of %v: we find none, slurmctld %v", site, plugin, n, free, theirs)
				continue
			}
			switch worse := ours.Worse(x.Span(theirs)); {
			case worse == 0:
				same++
			case worse < 0: // topology/tree now and then takes a switch more than it needs
				t.Logf("%s %s: %d of %v: slurmctld takes %v, %+v; we say %+v", site, plugin, n, free, theirs, x.Span(theirs), ours)
				closer++
			default:
				t.Errorf("%s %s: %d of %v: slurmctld takes %v, %+v; we say %+v", site, plugin, n, free, theirs, x.Span(theirs), ours)
			}
		}
		drain("RESUME")
	}
	t.Logf("%s, topology/%s: of %d gangs we say of %d what slurmctld does, of %d something closer", site, plugin, same+closer, same, closer)
	if same == 0 || closer > same/2 {
		t.Errorf("%s %s: too often slurmctld does something else", site, plugin)
	}
}

var onNodes = regexp.MustCompile(`on nodes (\S+) in partition`)

// wouldGet are the nodes on which slurmctld would start a gang at once; nil if it would not.
func wouldGet(t *testing.T, site string, names []string, n int) []int32 {
	t.Helper()
	var out strings.Builder
	err := world.Bed.Exec(t.Context(), bed.Cmd{Site: site, User: "alice", Args: []string{"sbatch", "--test-only", "--exclusive", fmt.Sprintf("-N%d", n), "-t5", "--wrap", "true"}, Stdout: &out, Stderr: &out})
	found := onNodes.FindStringSubmatch(out.String())
	if found == nil {
		t.Logf("%s: %d nodes: %v %s", site, n, err, strings.TrimSpace(out.String()))
		return nil
	}
	list, err := hostlist.Expand(found[1])
	if err != nil || len(list) != n {
		t.Fatalf("%s: %d nodes: %s", site, n, out.String())
	}
	var on []int32
	for _, name := range list {
		on = append(on, int32(slices.Index(names, name)))
	}
	return on
}
