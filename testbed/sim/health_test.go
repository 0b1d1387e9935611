package sim

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/simsite"
)

// clinic is a federation of one site of which a node is broken.
type clinic struct {
	t     *testing.T
	rng   *rand.Rand
	clock *simsite.VirtualClock
	site  *simsite.Site
	store *store.Store
	ctl   *controller.Controller
	cfg   controller.Config

	poison, good map[federation.JobID]bool
	found        []health.Finding
}

var clinicUsers = []string{"alice", "bob", "carol", "dave", "erin"}

func newClinic(t *testing.T, seed uint64, nodes int) *clinic {
	c := &clinic{t: t, rng: rand.New(rand.NewPCG(seed, 7)), clock: simsite.NewVirtualClock(start), poison: map[federation.JobID]bool{}, good: map[federation.JobID]bool{}}
	s := sites(nodes, slurmAt(t))[0]
	s.Config.Clock, s.Config.Seed, s.Config.Users = c.clock, seed, nil
	s.Config.EnforceAssociations = false
	for i, name := range clinicUsers {
		s.Config.Users = append(s.Config.Users, simsite.UserConfig{Name: name, UID: uint32(7001 + i), GID: uint32(7001 + i), Accounts: []string{"physics"}})
	}
	var err error
	if c.site, err = simsite.New(s.Config); err != nil {
		t.Fatal(err)
	}
	d, err := s.Driver(c.site)
	if err != nil {
		t.Fatal(err)
	}
	if c.store, err = store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "sim.db"), Volatile: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.store.Close() })
	c.cfg = controller.Config{Federation: "sim", Store: c.store, Health: c.store, RerunEarly: true, Policy: place.DefaultPolicy(), Now: c.clock.Now, Inline: true, Timing: controller.Timing{Poll: 3 * time.Second, Observe: 10 * time.Second},
		Sites: []controller.Site{{Name: "a", Driver: d, Prices: s.Prices}}, Notify: func(f health.Finding) { c.found = append(c.found, f) }}
	c.boot()
	return c
}

func (c *clinic) boot() {
	var err error
	if c.ctl, err = controller.New(c.t.Context(), c.cfg); err != nil {
		c.t.Fatal(err)
	}
}

// submit submits a job of some user: good, or one that nowhere lives.
func (c *clinic) submit(poison bool) {
	u := c.rng.IntN(len(clinicUsers))
	script := fmt.Sprintf("#!/bin/sh\n#SIM run=%s exit=0\n", time.Duration(90+c.rng.IntN(300))*time.Second)
	name := fmt.Sprintf("app%d", c.rng.IntN(8))
	if poison {
		script = "#!/bin/sh\n#SIM run=2s signal=7\n"
	}
	j := federation.Job{User: clinicUsers[u], UID: uint32(7001 + u), GID: uint32(7001 + u), State: federation.Pending, Reason: reasons.Priority, Submit: c.clock.Now(),
		Spec: &sbatch.Spec{Name: name, WorkDir: "/tmp", TimeLimit: time.Hour, GPUsPerNode: fmt.Sprint(1 + c.rng.IntN(4)), MinNodes: 1, MaxNodes: 1}}
	if err := c.store.CreateJob(c.t.Context(), &j, &sbatch.Payload{Script: script, Environment: []string{"PATH=/bin"}}); err != nil {
		c.t.Fatal(err)
	}
	if poison {
		c.poison[j.ID] = true
	} else {
		c.good[j.ID] = true
	}
}

// step lets one round pass, and the time until something is due.
func (c *clinic) step(before time.Time) {
	next := c.ctl.Round(c.t.Context())
	if !before.IsZero() && before.Before(next) {
		next = before
	}
	c.clock.Advance(max(next.Sub(c.clock.Now()), time.Millisecond))
	c.site.Advance(0)
}

// jobs are the jobs of some kind that are in none of some states.
func (c *clinic) wrong(ids map[federation.JobID]bool, well func(*federation.Job) bool) (out []string) {
	all, err := c.store.Jobs(c.t.Context(), federation.JobQuery{})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range all {
		if j := &all[i]; ids[j.ID] && !well(j) {
			out = append(out, fmt.Sprintf("%d %s %s %q exit %d on %s", j.ID, j.State, j.Reason, j.Held, j.ExitStatus, j.Nodes))
		}
	}
	return out
}

// TestOneBadNode: 40 poison jobs and 300 others of five users on 20 nodes, of which one fails every job at once. The node is drained, the poison jobs are held,
// every other job ends well, and no good node is drained.
func TestOneBadNode(t *testing.T) {
	seeds := 4
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newClinic(t, seed, 20)
			bad := fmt.Sprintf("a%d", 1+c.rng.IntN(4))
			c.site.BreakNode(bad, &simsite.Behaviour{Run: time.Second, Exit: 1 << 8})
			kinds := slices.Concat(slices.Repeat([]bool{true}, 40), slices.Repeat([]bool{false}, 300))
			c.rng.Shuffle(len(kinds), func(i, k int) { kinds[i], kinds[k] = kinds[k], kinds[i] })
			due := c.clock.Now()
			ended := func(j *federation.Job) bool { return j.State.Ended() }
			held := func(j *federation.Job) bool { return j.Held != federation.NotHeld && j.State == federation.Pending }
			for n, crashed := 0, false; ; n++ {
				for len(kinds) > 0 && !c.clock.Now().Before(due) {
					c.submit(kinds[0])
					kinds, due = kinds[1:], due.Add(time.Duration(c.rng.ExpFloat64()*float64(12*time.Second)))
				}
				if len(kinds) == 0 {
					due = time.Time{}
					if !crashed { // what is remembered outlives the daemon
						crashed = true
						c.boot()
					}
				}
				if c.step(due); n%50 == 0 && len(kinds) == 0 && len(c.wrong(c.good, ended)) == 0 && len(c.wrong(c.poison, held)) == 0 {
					break
				}
				if c.clock.Now().Sub(start) > 8*time.Hour {
					break
				}
			}
			if w := c.wrong(c.good, func(j *federation.Job) bool { return j.State == federation.Completed }); len(w) > 0 {
				t.Errorf("%d jobs did not end well, %v", len(w), w[:min(len(w), 3)])
			}
			if w := c.wrong(c.poison, held); len(w) > 0 {
				t.Errorf("%d poison jobs are not held: %v", len(w), w[:min(len(w), 3)])
			}
			records, err := c.store.Nodes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(records) != 1 || records[0].Node.Name != bad || records[0].Wish != federation.WishDrain {
				t.Errorf("drained: %+v, want %s alone", records, bad)
			}
			touched := map[string]bool{}
			said, err := c.store.HealthFindings(t.Context(), health.FindingQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range said {
				if f.Act == string(health.ActSuspect) && f.Denied == "" {
					touched[f.Node.Name] = true
				}
			}
			var drained time.Duration
			if len(records) > 0 {
				drained = records[0].Since.Sub(start)
			}
			runs := 0
			c.site.EachRun(func(r simsite.Run) bool {
				if r.Nodes == bad {
					runs++
				}
				return true
			})
			t.Logf("drained after %s and %d runs there; suspected meanwhile: %v; %d findings; all over after %s", drained, runs, touched, len(said), c.clock.Now().Sub(start))
		})
	}
}

// TestEveryNode: the health check of every node says that it is broken. The rule drains its limit, its breaker opens and is told within a minute, and
// nothing more is drained, not by a daemon that is started anew either.
func TestEveryNode(t *testing.T) {
	c := newClinic(t, 1, 40)
	c.step(time.Time{})
	for c.clock.Now().Sub(start) < 15*time.Second {
		c.step(time.Time{})
	}
	began := c.clock.Now()
	for i := range 40 {
		b := &journal.Batch{Health: []health.Record{{Kind: health.RecordCheck, Name: fmt.Sprintf("a/a%d", i+1), Data: []byte(`[{"code":"check-gpu","text":"Xid 79"}]`)}}}
		if err := c.store.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		c.step(time.Time{})
	}
	told := time.Time{}
	drained := func() (n int) {
		records, err := c.store.Nodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.Wish == federation.WishDrain {
				n++
			}
		}
		return n
	}
	for _, f := range c.found {
		if f.Trips && told.IsZero() {
			told = f.At
		}
	}
	if told.IsZero() || told.Sub(began) > time.Minute || drained() != 2 {
		t.Fatalf("%d nodes are drained, the breaker was told of after %s", drained(), told.Sub(began))
	}
	c.boot()
	for i := range 40 {
		b := &journal.Batch{Health: []health.Record{{Kind: health.RecordCheck, Name: fmt.Sprintf("a/a%d", i+1), Data: []byte(`[{"code":"check-gpu","text":"Xid 48"}]`)}}}
		if err := c.store.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for end := c.clock.Now().Add(2 * time.Hour); c.clock.Now().Before(end); {
		c.step(time.Time{})
	}
	if drained() != 2 {
		t.Errorf("%d nodes are drained after a restart, and hours later", drained())
	}
	t.Logf("2 of 40 nodes are drained, and the breaker was told of after %s", told.Sub(began))
}
