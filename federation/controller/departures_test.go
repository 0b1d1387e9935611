package controller

import (
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/move"
	"fsub/sbatch"
)

// keeper is a job that runs for ten hours on the cheap site, writes a checkpoint each half hour, and keeps it.
func (b *bench) keeper(change func(*sbatch.Spec)) federation.JobID {
	b.t.Helper()
	id := b.submit(func(s *sbatch.Spec) {
		s.TimeLimit = 10 * time.Hour
		s.Fed = &sbatch.Fed{Keep: []string{"ckpt"}, Checkpoint: 30 * time.Minute}
		if change != nil {
			change(s)
		}
	})
	b.wait(time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.cheap.start(id)
	b.wait(2 * time.Second)
	b.want(id, federation.Running, "", "cheap")
	return id
}

// pass lets a long time pass, by rounds that are five seconds apart.
func (b *bench) pass(d time.Duration) {
	for range int(d / (5 * time.Second)) {
		b.ctl.Round(b.t.Context())
		b.clock = b.clock.Add(5 * time.Second)
	}
}

func movesOf(act move.Act, kinds ...string) func(*Config) {
	return func(c *Config) {
		c.Moves = move.Default()
		c.Moves.Windows = move.Off
		for _, k := range kinds {
			switch k {
			case move.Window:
				c.Moves.Windows = act
			case move.Price:
				c.Moves.Prices = act
			case move.Gang:
				c.Moves.Gangs = act
			}
		}
	}
}

func (b *bench) maintain(site federation.SiteName, nodes string, in, lasts time.Duration) {
	b.t.Helper()
	if err := b.store.AddMaintenance(b.t.Context(), &federation.Maintenance{Site: site, Nodes: nodes, From: b.clock.Add(in), To: b.clock.Add(in + lasts), Reason: "new switches", By: "op", At: b.clock}); err != nil {
		b.t.Fatal(err)
	}
	b.ctl.Wake()
}

// A job leaves before a maintenance, right after a checkpoint, by one move whose sum it keeps; a job that says nothing of --keep stays, and so does one that would lose as much by the move.
func TestLeavesBeforeAMaintenance(t *testing.T) {
	for _, c := range []struct {
		name   string
		act    move.Act
		change func(*sbatch.Spec)
		moves  bool
		lost   string
	}{
		{name: "after a checkpoint", act: move.On, moves: true},
		{name: "with a signal", act: move.On, moves: true, lost: "checkpoint", change: func(s *sbatch.Spec) {
			s.Signal = &sbatch.Signal{Name: "USR1", Before: time.Minute, BatchOnly: true}
		}},
		{name: "keeps nothing", act: move.On, change: func(s *sbatch.Spec) { s.Fed = nil }},
		{name: "writes no checkpoint", act: move.On, change: func(s *sbatch.Spec) { s.Fed.Checkpoint = 0 }},
		{name: "may not be requeued", act: move.On, change: func(s *sbatch.Spec) { no := false; s.Requeue = &no }},
		{name: "dry", act: move.Dry},
		{name: "off", act: move.Off},
		{name: "ends before", act: move.On, change: func(s *sbatch.Spec) { s.TimeLimit = 30 * time.Minute }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.with(movesOf(c.act, move.Window))
			id := b.keeper(c.change)
			b.maintain("cheap", "", 50*time.Minute, 4*time.Hour)
			b.pass(5 * time.Minute)
			b.want(id, federation.Running, "", "cheap")
			b.pass(40 * time.Minute)
			if j := b.job(id); (j.Site == "dear") != c.moves {
				t.Fatalf("it is at %q: %s", j.Site, b.history(id))
			}
			if !c.moves {
				if m := b.attempts(id)[0].Moved; m != nil {
					t.Errorf("it keeps the move %+v", m)
				}
				return
			}
			all := b.attempts(id)
			m := all[0].Moved
			if m == nil || m.Kind != move.Window || m.Count != 1 || len(all) != 2 || all[1].Moved == nil || !all[1].Moved.At.Equal(m.At) {
				t.Fatalf("attempts %+v", all)
			}
			if saves, costs := decision.Sum(m.Saves), decision.Sum(m.Costs); saves <= costs*1.5 {
				t.Errorf("it saves %v and costs %v", saves, costs)
			}
			if h := b.history(id); strings.Count(h, "moved from cheap: maintenance: new switches at cheap begins at 2026-01-01T00:50:0") != 2 || !strings.Contains(h, "; saves $") {
				t.Errorf("its history is %s", h)
			}
			if m.Text() == "" || c.lost != "" && m.Costs[0].Name != c.lost {
				t.Errorf("its sum is %s", m.Text())
			}
			b.noRequests()
		})
	}
}

// A job goes where the rest of its run is cheaper once, however the prices change afterwards, and a new daemon knows of that.
func TestLeavesForAPriceOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		act   move.Act
		dear  float64 // the price of a GPU there, once the job runs
		after func(b *bench)
		moves bool
	}{
		{name: "cheaper", act: move.On, dear: .2, moves: true},
		{name: "not by enough", act: move.On, dear: .95},
		{name: "off", act: move.Off, dear: .2},
		{name: "dry", act: move.Dry, dear: .2},
		{name: "full", act: move.On, dear: .2, after: func(b *bench) { b.dear.nodes = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.with(movesOf(c.act, move.Price))
			id := b.keeper(nil)
			if c.after != nil {
				c.after(b)
			}
			price := func(cheap, dear float64) {
				b.with(func(cfg *Config) {
					cfg.Sites[0].Prices, cfg.Sites[1].Prices = accounting.Prices{"gres/gpu": cheap}, accounting.Prices{"gres/gpu": dear}
				})
			}
			price(1, c.dear)
			b.pass(40 * time.Minute)
			if j := b.job(id); (j.Site == "dear") != c.moves {
				t.Fatalf("it is at %q: %s", j.Site, b.history(id))
			}
			if !c.moves {
				return
			}
			delete(b.cheap.jobs, id) // it has forgotten the ID
			b.dear.start(id)
			b.pass(time.Minute)
			price(.01, 5)
			b.pass(time.Hour)
			b.want(id, federation.Running, "", "dear")
			b.pass(3 * time.Hour) // it may be moved once more then, and what is saved is much
			all := b.attempts(id)
			if last := all[len(all)-1]; len(all) != 3 || last.Site != "cheap" || last.Moved == nil || last.Moved.Count != 2 || last.Moved.At.Sub(all[0].Moved.At) < 2*time.Hour {
				t.Fatalf("attempts %+v", all)
			}
		})
	}
}

// A drain ends what runs there when its time is over; a job leaves before that.
func TestLeavesADrainingSite(t *testing.T) {
	b := newBench(t)
	b.with(movesOf(move.On, move.Window))
	id := b.keeper(nil)
	if err := b.store.SetSiteState(b.t.Context(), federation.SiteRecord{Name: "cheap", State: federation.FedDrain, Reason: "cooling", By: "op", At: b.clock}); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Hour)
	b.want(id, federation.Running, "", "cheap")
	b.pass(55 * time.Minute)
	if j := b.job(id); j.Site != "dear" || !strings.Contains(b.history(id), "FedState of cheap is DRAIN since 2026-01-01T00:00:0") {
		t.Fatalf("it is at %q: %s", j.Site, b.history(id))
	}
}

// A gang of two nodes starts where another job makes room for it that goes on on the other site. Its place is kept for it until that has left, and a daemon that is killed in between goes on.
func TestMovesForAGang(t *testing.T) {
	for _, c := range []struct {
		name    string
		act     move.Act
		restart bool
		keep    bool
		starts  bool
	}{
		{name: "on", act: move.On, keep: true, starts: true},
		{name: "killed", act: move.On, keep: true, restart: true, starts: true},
		{name: "dry", act: move.Dry, keep: true},
		{name: "keeps nothing", act: move.On},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.cheap.shows, b.dear.nodes = true, 1
			b.with(func(cfg *Config) {
				movesOf(c.act, move.Gang)(cfg)
				cfg.Sites[1].Prices = accounting.Prices{"gres/gpu": 1.01}
			})
			one := b.keeper(func(s *sbatch.Spec) {
				s.GPUsPerNode = "4"
				if !c.keep {
					s.Fed = nil
				}
			})
			b.pass(5 * time.Minute)
			gang := b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.MinNodes, s.MaxNodes = "4", 2, 2 })
			for i := range 120 {
				if c.restart && i%4 == 0 {
					b.restart()
				}
				b.pass(5 * time.Second)
				if g := b.cheap.jobs[gang]; g != nil && g.State == federation.Pending && b.cheap.jobs[one].State.Ended() {
					b.cheap.start(gang)
				}
			}
			if !c.starts {
				b.want(gang, federation.Pending, "", "")
				b.want(one, federation.Running, "", "cheap")
				return
			}
			b.want(gang, federation.Running, "", "cheap")
			b.want(one, federation.Pending, "", "dear")
			all := b.attempts(one)
			if m := all[0].Moved; m == nil || m.Kind != move.Gang || m.For != gang || m.Count != 1 || decision.Sum(m.Saves) <= decision.Sum(m.Costs) {
				t.Errorf("its move is %+v", m)
			}
			if h := b.history(gang); !strings.Contains(h, "1 job makes room: "+one.String()+" (moves, ") || !strings.Contains(h, "they go on elsewhere") {
				t.Errorf("the gang's history is %s", h)
			}
			if h := b.history(one); strings.Count(h, "moved from cheap: job "+gang.String()+", which takes 2 nodes, can start there then; saves $") != 2 {
				t.Errorf("its history is %s", h)
			}
			b.noRequests()
		})
	}
}

// A job that was asked to leave for a gang stays where that does not wait for it any more before the site was told; one that has got its signal leaves.
func TestStaysWhereTheGangIsGone(t *testing.T) {
	for _, c := range []struct {
		name   string
		later  int // rounds after the request
		signal bool
		ask    action.Request
		stays  bool
	}{
		{name: "cancelled", ask: action.Request{Kind: action.Cancel}, stays: true},
		{name: "sent elsewhere", ask: action.Request{Kind: action.Move, Operator: true, Move: &action.Relocation{From: "cheap"}}, stays: true},
		{name: "cancelled before the signal", signal: true, ask: action.Request{Kind: action.Cancel}, stays: true},
		{name: "cancelled after the signal", signal: true, later: 1, ask: action.Request{Kind: action.Cancel}},
		{name: "cancelled when it was told", later: 1, ask: action.Request{Kind: action.Cancel}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.cheap.shows, b.dear.nodes = true, 1
			b.with(func(cfg *Config) {
				movesOf(move.On, move.Gang)(cfg)
				cfg.Sites[1].Prices = accounting.Prices{"gres/gpu": 1.01}
			})
			one := b.keeper(func(s *sbatch.Spec) {
				s.GPUsPerNode = "4"
				if c.signal {
					s.Signal = &sbatch.Signal{Name: "USR1", Before: time.Minute, BatchOnly: true}
				}
			})
			b.pass(5 * time.Minute)
			gang := b.submit(func(s *sbatch.Spec) { s.GPUsPerNode, s.MinNodes, s.MaxNodes = "4", 2, 2 })
			asked := func() bool {
				all, err := b.store.Requests(t.Context(), 0)
				return err == nil && len(all) > 0 && all[0].Job == one && all[0].Move != nil && all[0].Move.For == gang
			}
			for i := 0; !asked(); i++ {
				if i == 1000 {
					t.Fatalf("it was not asked to leave: %s", b.history(gang))
				}
				b.pass(5 * time.Second)
			}
			b.pass(time.Duration(c.later) * 5 * time.Second)
			c.ask.Job = gang
			b.request(c.ask)
			b.pass(10 * time.Minute)
			if !c.stays {
				b.want(one, federation.Pending, "", "dear")
				return
			}
			b.want(one, federation.Running, "", "cheap")
			if h := b.history(one); !strings.Contains(h, "stays at cheap: job "+gang.String()+" does not wait for its nodes any more") || strings.Contains(h, "to be moved") || strings.Contains(h, "signal") {
				t.Errorf("its history is %s", h)
			}
			if m := b.attempts(one)[0].Moved; m != nil {
				t.Errorf("it keeps the move %+v", m)
			}
			b.noRequests()
		})
	}
}

// A daemon that comes while a job waits after a move knows of that: it is not moved sooner or more often again.
func TestMovesAreKnownToANewDaemon(t *testing.T) {
	b := newBench(t)
	b.with(movesOf(move.On, move.Window))
	b.dear.nodes = 0 // it waits
	id := b.keeper(func(s *sbatch.Spec) { s.Signal = &sbatch.Signal{Name: "USR1", Before: time.Minute, BatchOnly: true} })
	b.dear.nodes = 4
	b.maintain("cheap", "", 50*time.Minute, 4*time.Hour)
	for i := 0; b.attempts(id)[0].Moved == nil; i++ {
		if i == 1000 {
			t.Fatal("it was not moved")
		}
		b.pass(5 * time.Second)
	}
	b.dear.nodes = 0
	b.pass(2 * time.Minute)
	b.want(id, federation.Pending, "", "")
	b.restart()
	b.pass(5 * time.Second)
	if left := b.ctl.departures.bounds.Left(&b.ctl.departures.rule, b.clock); left != b.ctl.departures.rule.PerHour-1 {
		t.Errorf("the hour has %d moves left", left)
	}
	b.dear.nodes = 4
	b.pass(time.Minute)
	all := b.attempts(id)
	if last := all[len(all)-1]; len(all) != 2 || last.Moved == nil || last.Moved.Count != 1 || !last.Moved.At.Equal(all[0].Moved.At) {
		t.Fatalf("attempts %+v: %s", all, b.history(id))
	}
}

// Jobs without a place elsewhere do not keep those behind them from being looked at.
func TestLeavesBehindThoseThatCannot(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes = departLooks + 10
	b.with(movesOf(move.On, move.Window))
	for range departLooks {
		b.keeper(func(s *sbatch.Spec) { s.Fed.Sites = []string{"cheap"} })
	}
	last := b.keeper(nil)
	b.maintain("cheap", "", 20*time.Minute, 4*time.Hour)
	b.pass(20 * time.Minute)
	if j := b.job(last); j.Site != "dear" {
		t.Errorf("it is at %q: %s", j.Site, b.history(last))
	}
}
