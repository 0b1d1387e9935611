package controller

import (
	"context"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/share"
	"fsub/sbatch"
)

// What is told of the start of a job that waits at a site is what the site says, else what is foretold of its queue. Held jobs have none, nor those that run.
func TestStarts(t *testing.T) {
	b := newBench(t)
	id, held := b.submit(nil), b.submit(nil)
	b.wait(2 * time.Second)
	b.want(id, federation.Pending, "", "cheap")
	b.want(held, federation.Pending, "", "cheap")
	b.request(action.Request{Job: held, Kind: action.Hold, UID: 7001})
	b.wait(2 * time.Second)
	site := b.ctl.sites.byName["cheap"]
	site.Outlook = busy{2 * time.Hour}
	s, known := b.ctl.forecasts.starts()[id]
	if left := s.At.Sub(b.clock); !known || s.Site != "cheap" || left < 2*time.Hour-time.Second || left > 2*time.Hour || s.Within.Sub(s.At) != 2*time.Hour || s.Total <= 0 {
		t.Errorf("it is foretold %+v", s)
	}
	if s, known := b.ctl.forecasts.starts()[held]; known {
		t.Errorf("a held job is to start: %+v", s)
	}
	seen := *site.Seen
	seen.Waiting = []federation.WaitingJob{{Job: id, Ours: true, Start: b.clock.Add(time.Hour)}}
	site.Seen = &seen
	if s := b.ctl.forecasts.starts()[id]; !s.At.Equal(b.clock.Add(time.Hour)) || !s.Within.IsZero() {
		t.Errorf("the site says an hour, and it is told %+v", s)
	}
	b.cheap.start(id)
	b.wait(2 * time.Second)
	if s, known := b.ctl.forecasts.starts()[id]; known {
		t.Errorf("it runs, and is to start: %+v", s)
	}
}

// Jobs in the federation's queue have the start that the plan gives them; one that asks for the starts waits for no more than a round.
func TestStartsOfTheQueue(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes = 0, 0
	b.restart()
	id := b.submit(nil)
	b.wait(2 * time.Second)
	if s, known := b.ctl.forecasts.starts()[id]; known {
		t.Errorf("nothing says when, and it is told %+v", s)
	}
	if b.asked() == nil {
		t.Error("nothing is told")
	}
}

// asked is what Starts answers, while rounds go on.
func (b *bench) asked() decision.Starts {
	told := make(chan decision.Starts, 1)
	go func() {
		s, err := b.ctl.Starts(b.t.Context())
		if err != nil {
			b.t.Error(err)
		}
		told <- s
	}()
	for {
		select {
		case s := <-told:
			return s
		default:
		}
		b.ctl.starts.mu.Lock()
		waits := len(b.ctl.starts.to) > 0
		b.ctl.starts.mu.Unlock()
		if waits { // it has read the clock, which a round moves
			b.rounds(1)
		}
	}
}

// Who asks when a job starts that has just been submitted is told, though others have asked a moment ago.
func TestStartsOfWhatHasJustCome(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes, b.cheap.shows = 1, 0, true
	b.restart()
	whole := func(s *sbatch.Spec) { s.GPUsPerNode = "4" }
	first := b.submit(whole)
	b.wait(2 * time.Second)
	b.cheap.start(first)
	b.wait(2 * time.Second)
	if s := b.asked(); s[first] != (decision.Start{}) {
		t.Errorf("what runs is to start: %+v", s)
	}
	id := b.submit(whole)
	b.wait(300 * time.Millisecond)
	if s, known := b.asked()[id]; !known || !s.At.After(b.clock) {
		t.Errorf("a job that has just come is foretold %+v", s)
	}
}

// Whoever waits for the round under way leaves his turn to others meanwhile.
func TestWaitForTheRoundTakesNoTurn(t *testing.T) {
	b := newBench(t)
	turns := share.NewTurns(1, 0)
	for what, ask := range map[string]func(context.Context) error{
		"starts":    func(ctx context.Context) error { _, err := b.ctl.Starts(ctx); return err },
		"spendings": func(ctx context.Context) error { _, err := b.ctl.Spendings(ctx); return err },
		"prospects": func(ctx context.Context) error { _, err := b.ctl.Prospects(ctx, 1); return err },
	} {
		turn, err := turns.Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(share.With(t.Context(), turn), time.Minute)
		done := make(chan error)
		go func() { done <- ask(ctx) }()
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if other, err := turns.Take(short, 2); err != nil {
			t.Errorf("%s: another has no turn: %v", what, err)
		} else {
			other.Done()
		}
		cancel()
		stop()
		if err := <-done; err == nil {
			t.Errorf("%s: there was no round", what)
		}
		turn.Done()
	}
}

// A job that waits at a site is not foretold to start before its nodes can be free, however short past waits were.
func TestNoStartBeforeNodesAreFree(t *testing.T) {
	b := newBench(t)
	b.cheap.nodes, b.dear.nodes, b.cheap.shows = 2, 0, true
	b.restart()
	whole := func(s *sbatch.Spec) { s.GPUsPerNode = "4" }
	first, id := b.submit(whole), b.submit(whole)
	b.wait(2 * time.Second)
	b.want(first, federation.Pending, "", "cheap")
	b.want(id, federation.Pending, "", "cheap")
	b.cheap.nodes = 1
	b.cheap.start(first)
	ends := b.clock.Add(time.Hour)
	b.wait(10 * time.Second)
	site := b.ctl.sites.byName["cheap"]
	site.Outlook = busy{time.Second}
	s, known := b.ctl.forecasts.starts()[id]
	if !known || s.At.Before(ends.Add(-time.Second)) || s.Within.Before(s.At) || s.At.After(ends.Add(time.Minute)) {
		t.Errorf("its node is held until %s, and it is foretold %+v", ends, s)
	}
	site.Outlook = nil
	if s := b.ctl.forecasts.starts()[id]; s.At.Before(ends.Add(-time.Second)) {
		t.Errorf("without past waits it is foretold %+v", s)
	}
}
