package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
)

// TestSettledIsNotOvertaken: who waits for a request waits for that one, although a later one is done first, and hears that it was refused.
func TestSettledIsNotOvertaken(t *testing.T) {
	b := newBench(t)
	p := &pauser{fakeSite: b.cheap, err: federation.ErrUnavailable}
	b.drive(p)
	id := b.running()
	first, err := b.store.AddRequest(t.Context(), action.Request{Job: id, Kind: action.Suspend, Operator: true})
	if err != nil {
		t.Fatal(err)
	}
	b.rounds(2)
	second, err := b.store.AddRequest(t.Context(), action.Request{Job: b.submit(nil), Kind: action.Hold, UID: 7001})
	if err != nil {
		t.Fatal(err)
	}
	b.rounds(2)
	b.ctl.Settled(t.Context(), []int64{second}, time.Hour)
	p.err = fmt.Errorf("an old agent: %w", federation.ErrInvalid)
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		b.wait(10 * time.Second)
	}()
	b.ctl.Settled(t.Context(), []int64{second, first}, time.Hour)
	if err := b.ctl.Refusal(first); err == nil || !strings.Contains(err.Error(), "an old agent") {
		t.Errorf("refused: %v", err)
	}
	<-ran
	b.noRequests()
}

// TestDoneSeqs: the newest maxSeqs are known, in whatever order they are done, and not forever.
func TestDoneSeqs(t *testing.T) {
	var d doneSeqs
	for i := range int64(5 * maxSeqs) {
		d.add(i ^ 1)
	}
	if n := len(d.last) + len(d.before); n < maxSeqs || n > 2*maxSeqs {
		t.Errorf("%d are known", n)
	}
	ask := []int64{5*maxSeqs - 1, 5 * maxSeqs, 4 * maxSeqs, 0}
	if got := d.missing(ask); !slices.Equal(got, []int64{5 * maxSeqs, 0}) {
		t.Errorf("not done: %v", got)
	}
}
