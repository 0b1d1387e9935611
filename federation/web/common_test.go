package web

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation"
)

// What many ask for at once is made once, again when it is too old, and not kept if it failed or the clock was set back.
func TestKept(t *testing.T) {
	var c clock
	now := time.Now()
	c.stopped.Store(&now)
	var k kept[int64]
	var n atomic.Int64
	next := func() (int64, error) { return n.Add(1), nil }
	get := func(want int64, what string) {
		t.Helper()
		if v, err := k.get(c.now, time.Second, next); err != nil || v != want {
			t.Errorf("%s: %d, %v, want %d", what, v, err, want)
		}
	}
	if _, err := k.get(c.now, time.Second, func() (int64, error) { return 0, errors.New("away") }); err == nil {
		t.Error("an error is lost")
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { get(1, "at once") })
	}
	all.Wait()
	c.advance(mostLife)
	get(2, "later")
	c.advance(-time.Hour)
	get(3, "when the clock was set back")
}

// A poll of the same user that comes at once after another asks for nothing but the session; that of another user is that user's own.
func TestPollsAreShared(t *testing.T) {
	p := furnished(t)
	at := p.clock.now()
	p.clock.stopped.Store(&at)
	a, b := p.signedIn(alice, false), p.signedIn(bob, false)
	for _, path := range []string{"/jobs.live", "/job/1/live", "/team.live"} {
		_, first := a.get(path)
		again := ""
		if asked := p.asked.during(func() { _, again = a.get(path) }); len(asked) != 1 || again != first {
			t.Errorf("%s: %d requests, want one for the session; the same answer: %v", path, len(asked), again == first)
		}
	}
	_, mine := a.get("/jobs.live")
	if _, theirs := b.get("/jobs.live"); theirs == mine {
		t.Errorf("bob is shown alice's jobs: %s", theirs)
	}
	j, err := p.Store.Job(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	j.State, j.End = federation.Completed, p.clock.now()
	p.commit(&j)
	p.clock.advance(mostLife)
	if _, later := a.get("/jobs.live"); later == mine {
		t.Errorf("an old answer: %s", later)
	}
}
