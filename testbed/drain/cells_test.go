package drain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/federation/health"
	"fsub/testbed/bed"
)

const (
	mark    = "drain"
	ourText = "drain:root:T-1 cell" // of the records of these tests
)

// cell is what a site shows of a node before the daemon looks at it, and how a real site is brought to show it.
type cell struct {
	is   health.Condition
	by   health.Author
	make func(s *story, node string) error
}

// set is scontrol update of the node, once for each of some words: "drain=REASON", "down=REASON".
func set(words ...string) func(*story, string) error {
	return func(s *story, node string) error {
		for _, w := range words {
			state, reason, _ := strings.Cut(w, "=")
			if err := s.scontrol("update", "nodename="+node, "state="+state, "reason="+reason); err != nil {
				return err
			}
		}
		return nil
	}
}

// silent is a node whose slurmd is gone: slurmctld has taken it DOWN, and then it was given a reason.
func silent(reason string) func(*story, string) error {
	return func(s *story, node string) error {
		if err := s.await(func() error {
			if n, err := s.nodeAt(node); err != nil || health.ConditionOf(n) != health.Down {
				return fmt.Errorf("%s is %v, and not DOWN: %v", node, n.State, err)
			}
			return nil
		}); err != nil {
			return err
		}
		return s.scontrol("update", "nodename="+node, "reason="+reason)
	}
}

// rebooting is a node that reboots once its job, which is none of the federation's, has ended.
func rebooting(s *story, node string) error {
	ctx := context.Background()
	if _, err := world.Bed.Output(ctx, s.site, "alice", "sbatch", "-J", "busy", "-o", "/dev/null", "-D", "/", "-t", "60", "-w", node, "--wrap", "sleep 3000"); err != nil {
		return err
	}
	if err := s.await(func() error {
		if n, err := s.nodeAt(node); err != nil || !slices.Contains(n.State, "MIXED") && !slices.Contains(n.State, "ALLOCATED") {
			return fmt.Errorf("%s is not busy: %+v %v", node, n, err)
		}
		return nil
	}); err != nil {
		return err
	}
	return s.scontrol("reboot", node)
}

const (
	earlier = "drain:olga:T-0 other words"
	theirs  = "cooling water"
)

// cells are what a real Slurm can be brought to. There is no DRAIN or DOWN without a reason, and no provider.
var cells = []cell{
	{health.Up, health.Nobody, set()},
	{health.Drained, health.Ours, set("drain=" + ourText)},
	{health.Drained, health.Earlier, set("drain=" + earlier)},
	{health.Drained, health.Slurmctld, set("drain=Kill task failed")},
	{health.Drained, health.Silence, set("drain=Not responding")},
	{health.Drained, health.Admin, set("drain=" + theirs)},
	{health.DownAnswers, health.Ours, set("down=" + ourText)},
	{health.DownAnswers, health.Earlier, set("down=" + earlier)},
	{health.DownAnswers, health.Slurmctld, set("down=Prolog error")},
	{health.DownAnswers, health.Silence, set("down=Not responding")},
	{health.DownAnswers, health.Admin, set("down=" + theirs)},
	{health.DownDrained, health.Ours, set("drain="+ourText, "down="+ourText)},
	{health.DownDrained, health.Slurmctld, set("drain=Kill task failed", "down=Kill task failed")},
	{health.DownDrained, health.Admin, set("drain="+theirs, "down="+theirs)},
	{health.Between, health.Slurmctld, rebooting},
	{health.Down, health.Silence, silent("Not responding")},
	{health.Down, health.Ours, silent(ourText)},
	{health.Down, health.Admin, silent(theirs)},
}

func (s *story) scontrol(args ...string) error {
	_, err := world.Bed.Output(context.Background(), s.site, "", append([]string{"scontrol"}, args...)...)
	return err
}

// await repeats a check until it is content.
func (s *story) await(check func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// nodesAt are the site's nodes as its own scontrol shows them.
func (s *story) nodesAt() (map[string]*federation.Node, error) {
	out, err := world.Bed.Output(context.Background(), s.site, "", "scontrol", "show", "node")
	nodes := map[string]*federation.Node{}
	var n *federation.Node
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "NodeName="); ok {
			n = &federation.Node{Name: strings.Fields(text)[0]}
			nodes[n.Name] = n
		} else if text, ok := strings.CutPrefix(line, "State="); ok {
			text = strings.Fields(text)[0]
			n.State = strings.Split(strings.ReplaceAll(text, "*", ""), "+")
			if strings.Contains(text, "*") {
				n.State = append(n.State, "NOT_RESPONDING")
			}
		} else if text, ok := strings.CutPrefix(line, "Reason="); ok {
			n.Reason, _, _ = strings.Cut(text, " [")
		}
	}
	return nodes, err
}

func (s *story) nodeAt(name string) (*federation.Node, error) {
	nodes, err := s.nodesAt()
	if nodes[name] == nil {
		return &federation.Node{}, errors.Join(err, fmt.Errorf("no node %s", name))
	}
	return nodes[name], err
}

// sight is what matters here of a node.
type sight struct {
	is     health.Condition
	reason string
}

func (x sight) String() string { return fmt.Sprintf("%s %q", x.is, x.reason) }

func sightOf(n *federation.Node) sight {
	x := sight{is: health.ConditionOf(n)}
	if x.is != health.Up {
		x.reason = n.Reason
	}
	return x
}

// settled is what the table makes of a node in the end, as Slurm carries its actions out.
func settled(t testing.TB, n *federation.Node, wish federation.NodeWish) sight {
	c := &federation.Node{Name: n.Name, State: slices.Clone(n.State), Reason: n.Reason}
	without := func(flags ...string) {
		c.State = slices.DeleteFunc(c.State, func(s string) bool { return slices.Contains(flags, s) })
	}
	for range 4 {
		switch health.Decide(wish, health.ConditionOf(c), health.AuthorOf(c, ourText, mark)) {
		case health.Drain:
			c.State, c.Reason = append(c.State, "DRAIN"), ourText
		case health.Undrain:
			without("DRAIN")
		case health.Revive:
			without("DRAIN", "DOWN")
			c.State = append(c.State, "IDLE")
		default:
			return sightOf(c)
		}
	}
	t.Errorf("the table does not come to rest: %v %q, wanted %q", n.State, n.Reason, wish)
	return sight{}
}

// atSites does something at all sites at the same time.
func atSites(t *testing.T, all []*story, do func(*story) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, s := range all {
		wg.Go(func() {
			if err := do(s); err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.site, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// fresh makes all nodes of a site idle.
func (s *story) fresh() error {
	ctx := context.Background()
	world.Bed.Output(ctx, s.site, "", "scancel", "-n", "busy")
	for i := range nodes {
		if err := world.Bed.StartService(ctx, s.site, "slurmd:"+s.node(i+1)); err != nil {
			return err
		}
	}
	return s.await(func() (err error) {
		seen, err := s.nodesAt()
		for _, n := range seen {
			if slices.Equal(n.State, []string{"IDLE"}) {
				continue
			}
			err = errors.Join(err, fmt.Errorf("%s is %v %q", n.Name, n.State, n.Reason))
			if strings.Contains(strings.Join(n.State, " "), "REBOOT") {
				s.scontrol("cancel_reboot", n.Name)
			} else if health.ConditionOf(n) != health.Up {
				s.scontrol("update", "nodename="+n.Name, "state=resume") // refused until it answers
			}
		}
		return err
	})
}

// makeCells brings the nodes to what the cells say, and returns what the site then shows.
func (s *story) makeCells() (map[string]*federation.Node, error) {
	for i, c := range cells {
		if c.is == health.Down { // slurmctld finds that out within SlurmdTimeout
			if err := world.Bed.KillService(s.site, "slurmd:"+s.node(i+1)); err != nil {
				return nil, err
			}
		}
	}
	for i, c := range cells {
		if err := c.make(s, s.node(i+1)); err != nil {
			return nil, err
		}
	}
	var seen map[string]*federation.Node
	err := s.await(func() (err error) {
		seen, err = s.nodesAt()
		for i, c := range cells {
			n := seen[s.node(i+1)]
			if n == nil {
				return fmt.Errorf("no node %s", s.node(i+1))
			}
			if is, by := health.ConditionOf(n), health.AuthorOf(n, ourText, mark); is != c.is || by != c.by && c.is != health.Between {
				err = errors.Join(err, fmt.Errorf("%s is %s by %s (%v %q), want %s by %s", n.Name, is, by, n.State, n.Reason, c.is, c.by))
			}
		}
		return err
	})
	return seen, err
}

// comes waits until the nodes are as they are to be, and expects that they stay so.
func (s *story) comes(want map[string]sight, stay time.Duration) error {
	wrong := func() (err error) {
		seen, err := s.nodesAt()
		for name, x := range want {
			if seen[name] == nil {
				return fmt.Errorf("no node %s: %v", name, err)
			}
			if got := sightOf(seen[name]); got != x {
				err = errors.Join(err, fmt.Errorf("%s is %s (%v), want %s", name, got, seen[name].State, x))
			}
		}
		return err
	}
	if err := s.await(wrong); err != nil {
		return err
	}
	for end := time.Now().Add(stay); time.Now().Before(end); time.Sleep(time.Second) {
		if err := wrong(); err != nil {
			return fmt.Errorf("it did not stay: %w", err)
		}
	}
	return nil
}

// TestCells: whatever is wanted and whatever a real site shows, by whosever word, the outcome is that of the table: when a killed daemon comes
// back and finds it, after slurmctld was killed, and when it came about while the site could not be reached. ReturnToService is 0 here, so that
// slurmctld changes nothing by itself.
func TestCells(t *testing.T) {
	world.Need(t)
	if !full {
		t.Skip("SKIPPED: needs sites of many nodes and takes a quarter of an hour: FSUB_FULL=1 runs it")
	}
	if len(cells) > nodes {
		t.Fatalf("%d cells on %d nodes", len(cells), nodes)
	}
	var all []*story
	for _, site := range sites {
		s := &story{T: t, site: site, client: world.Daemon.Client()}
		t.Cleanup(s.client.Close)
		all = append(all, s)
		if n := s.seen(1); n.Wanted != nil {
			t.Fatalf("this has to be the first test: of %s %s is wanted", n.Name, n.Wanted.State)
		}
	}
	t.Cleanup(func() {
		for _, s := range all {
			_, err := s.client.SetNodes(context.Background(), v1.SetNodes{Nodes: []string{s.site + "/*"}, State: federation.WishResume})
			if err := errors.Join(err, world.Bed.Link(context.Background(), s.site, bed.LinkHeal), s.fresh()); err != nil {
				t.Error(err)
			}
		}
		world.Daemon.AwaitSites(context.Background())
	})
	start := func() {
		if err := errors.Join(world.Daemon.Start(t.Context()), world.Daemon.AwaitSites(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	for _, wish := range []federation.NodeWish{"", federation.WishDrain, federation.WishResume} {
		began := time.Now()
		if wish != "" {
			for _, s := range all {
				s.set(v1.SetNodes{Nodes: []string{s.site + "/*"}, State: federation.WishDrain, Reason: "cell", Ticket: "T-1"})
				if wish == federation.WishResume {
					s.set(v1.SetNodes{Nodes: []string{s.site + "/*"}, State: wish})
				}
			}
		}
		world.Daemon.Kill()
		made, want := make([]map[string]sight, len(all)), make([]map[string]sight, len(all))
		expect := func(s *story) error {
			seen, err := s.makeCells()
			m, w := map[string]sight{}, map[string]sight{}
			for i := range cells {
				if n := seen[s.node(i+1)]; n != nil {
					m[n.Name], w[n.Name] = sightOf(n), settled(t, n, wish)
				}
			}
			made[slices.Index(all, s)], want[slices.Index(all, s)] = m, w
			return err
		}
		arrives := func(s *story) error { return s.comes(want[slices.Index(all, s)], 6*time.Second) }
		atSites(t, all, (*story).fresh)
		atSites(t, all, expect)
		start()
		atSites(t, all, arrives)
		t.Logf("wanted %q: a killed daemon found %d cells at each of %d sites: %v", wish, len(cells), len(all), time.Since(began).Round(time.Second))

		time.Sleep(8 * time.Second) // slurmctld writes its state down within that
		atSites(t, all, func(s *story) error {
			if err := world.Bed.KillService(s.site, "slurmctld"); err != nil {
				return err
			}
			return world.Bed.StartService(context.Background(), s.site, "slurmctld")
		})
		for i, c := range cells {
			if wish == federation.WishResume && c.is == health.Down && c.by == health.Ours {
				// A slurmctld that has just started takes every node for one that responds. So ours is resumed, and then DOWN by slurmctld's own word.
				for k, s := range all {
					want[k][s.node(i+1)] = sight{health.Down, "Not responding"}
				}
			}
		}
		atSites(t, all, arrives)
		t.Logf("wanted %q: slurmctld was killed: %v", wish, time.Since(began).Round(time.Second))

		atSites(t, all, func(s *story) error { return world.Bed.Link(context.Background(), s.site, bed.LinkCut) })
		atSites(t, all, func(s *story) error {
			if err := s.await(func() error {
				if n, err := s.client.Node(context.Background(), federation.NodeID{Site: federation.SiteName(s.site), Name: s.node(1)}); err != nil || !n.Stale {
					return fmt.Errorf("it still answers: %v", err)
				}
				return nil
			}); err != nil {
				return err
			}
			return errors.Join(s.fresh(), expect(s))
		})
		atSites(t, all, func(s *story) error { // nobody can have told them anything
			return s.comes(made[slices.Index(all, s)], 4*time.Second)
		})
		atSites(t, all, func(s *story) error { return world.Bed.Link(context.Background(), s.site, bed.LinkHeal) })
		atSites(t, all, arrives)
		t.Logf("wanted %q: all came about anew while the sites could not be reached: %v", wish, time.Since(began).Round(time.Second))

		for _, s := range all {
			s.set(v1.SetNodes{Nodes: []string{s.site + "/*"}, State: federation.WishResume})
		}
		atSites(t, all, (*story).fresh)
	}
}

// full: tests that take long run too, on sites of many nodes.
var full = os.Getenv("FSUB_FULL") != ""
