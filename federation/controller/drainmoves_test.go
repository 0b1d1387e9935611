package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/move"
	"fsub/sbatch"
)

// emptyNodes drains nodes of the cheap site as fed node drain --move does.
func (b *bench) emptyNodes(names ...string) {
	b.wish(federation.WishDrain, func(r *federation.NodeRecord) { r.Jobs = string(action.Move) }, names...)
}

func signalled(s *sbatch.Spec) {
	s.Signal = &sbatch.Signal{Name: "USR1", Before: time.Minute, BatchOnly: true}
}

// again is a new daemon that has seen its sites.
func (h *hall) again(b *bench) {
	b.restart()
	b.drive(h)
	b.rounds(3)
}

// A drain with --move moves the job that keeps something, once, with its signal, whatever the rule says of windows and though the daemon is killed in between. The others run on, and say why, once.
func TestDrainMoves(t *testing.T) {
	b := newBench(t)
	b.with(movesOf(move.Off))
	h := b.makeHall()
	no := false
	stays := map[federation.JobID]string{
		b.keeper(func(s *sbatch.Spec) { s.Fed = nil }):     "it has not said --keep",
		b.keeper(func(s *sbatch.Spec) { s.Requeue = &no }): "it was submitted with --no-requeue",
	}
	id := b.keeper(signalled)
	other := b.keeper(signalled)
	b.cheap.jobs[other].Nodes = "n2"
	b.pass(5 * time.Minute)
	b.emptyNodes("n1")
	b.rounds(2)
	h.again(b)
	for i := 0; b.attempts(id)[0].Moved == nil; i++ {
		if i == 20 {
			t.Fatalf("it is not moved: %s", b.history(id))
		}
		b.pass(5 * time.Second)
	}
	h.again(b)
	b.want(id, federation.Running, "", "cheap")
	b.pass(2 * time.Minute)
	b.want(id, federation.Pending, "", "dear")
	h.again(b)
	b.pass(time.Minute)
	b.want(other, federation.Running, "", "cheap")

	all := b.attempts(id)
	m := all[0].Moved
	if len(all) != 2 || m.Kind != move.Window || m.Count != 1 || !m.Stay || decision.Sum(m.Costs) <= 0 || all[1].Moved == nil || b.job(id).Restarts != 1 {
		t.Fatalf("attempts %+v", all)
	}
	if got := fmt.Sprint(b.cheap.signals); got != "[{USR1 true false}]" {
		t.Errorf("signals %s", got)
	}
	if text := b.history(id); strings.Count(text, "moved from cheap: node cheap/n1 is drained by olga: fan; costs $") != 2 || strings.Count(text, "signal USR1") != 1 || strings.Contains(text, "stays on") {
		t.Errorf("its history is %s", text)
	}
	for stay, why := range stays {
		b.want(stay, federation.Running, "", "cheap")
		why = "stays on node cheap/n1, which olga drains: " + why
		if got := b.attempts(stay)[0].Stays; got != why || strings.Count(b.history(stay), why) != 1 {
			t.Errorf("%q is said of it, want %q; its history is %s", got, why, b.history(stay))
		}
	}
	b.wish(federation.WishResume, nil, "n1")
	b.pass(time.Minute)
	for stay := range stays {
		if got := b.attempts(stay)[0].Stays; got != "" {
			t.Errorf("after the drain: %q", got)
		}
	}
	if got := b.attempts(other)[0].Stays; got != "" {
		t.Errorf("it says %q of a node that is not drained", got)
	}
	b.noRequests()
}

// What keeps a job for a while: no place, the bound of moves by the hour, its next checkpoint. It says so, and leaves when that is over.
func TestDrainMovesWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*sbatch.Spec)
		rule   func(*move.Rule)
		full   bool // nothing is free elsewhere
		says   string
		until  time.Duration
	}{
		{name: "no place", change: signalled, full: true, says: "no other nodes can take it now", until: time.Minute},
		{name: "the hour's moves", change: signalled, rule: func(r *move.Rule) { r.PerHour = 1 }, says: "1 jobs have been moved within an hour, and it waits for its turn", until: time.Hour},
		{name: "its checkpoint", says: "it waits for its next checkpoint, at about 00:3", until: 27 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.with(func(cfg *Config) {
				movesOf(move.Off)(cfg)
				if c.rule != nil {
					c.rule(&cfg.Moves)
				}
			})
			b.makeHall()
			id := b.keeper(c.change)
			if c.rule != nil {
				b.ctl.departures.bounds.Note(b.clock)
			}
			if c.full {
				b.dear.nodes = 0
			}
			b.pass(5 * time.Minute)
			b.emptyNodes("n1", "n2")
			b.pass(time.Minute)
			b.want(id, federation.Running, "", "cheap")
			want := "stays on node cheap/n1, which olga drains: " + c.says
			if got := b.attempts(id)[0].Stays; !strings.HasPrefix(got, want) || strings.Count(b.history(id), want) != 1 {
				t.Fatalf("it says %q; its history is %s", got, b.history(id))
			}
			b.dear.nodes = 2
			b.pass(c.until)
			b.pass(2 * time.Minute)
			b.want(id, federation.Pending, "", "dear")
			if a := b.attempts(id)[0]; a.Stays != "" || strings.Count(b.history(id), "stays on") != 1 {
				t.Errorf("it says %q; its history is %s", a.Stays, b.history(id))
			}
			b.noRequests()
		})
	}
}

// A job may go on on another node of the same site, and is moved again from a second node, however short the time since.
func TestDrainMovesWithinASite(t *testing.T) {
	b := newBench(t)
	b.with(movesOf(move.Off))
	b.dear.nodes = 0
	b.makeHall()
	id := b.keeper(signalled)
	for n := range 2 {
		b.emptyNodes(fmt.Sprintf("n%d", n+1))
		b.pass(2 * time.Minute)
		b.want(id, federation.Pending, "", "")
		delete(b.cheap.jobs, id) // it has forgotten the ID
		b.pass(15 * time.Minute)
		b.want(id, federation.Pending, "", "cheap")
		b.wish(federation.WishResume, nil, "n1")
		b.cheap.start(id)
		b.cheap.jobs[id].Nodes = "n2"
		b.pass(time.Minute)
		b.want(id, federation.Running, "", "cheap")
		if m := b.attempts(id)[n].Moved; m == nil || m.Count != n+1 {
			t.Fatalf("the move is %+v", m)
		}
	}
}
