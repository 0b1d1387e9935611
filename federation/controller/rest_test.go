package controller

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation/journal"
	"fsub/federation/store"
)

// slowStore takes a while for each read of its log, and counts them.
type slowStore struct {
	Store
	takes time.Duration
	reads atomic.Int64
}

func (s *slowStore) Changes(ctx context.Context, after journal.Mark, limit int) (journal.Log, error) {
	s.reads.Add(1)
	time.Sleep(s.takes)
	return s.Store.Changes(ctx, after, limit)
}

// TestRoundsRest: while one event follows another, rounds leave most of the time to others, and each event is still taken in.
func TestRoundsRest(t *testing.T) {
	st, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "x.db"), Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	slow := &slowStore{Store: st, takes: 4 * time.Millisecond}
	c, err := New(t.Context(), Config{Federation: "test", Store: slow})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- c.Run(ctx) }()
	before, began := slow.reads.Load(), time.Now()
	for time.Since(began) < time.Second {
		c.Wake()
		time.Sleep(time.Millisecond)
	}
	reads, took := slow.reads.Load()-before, time.Since(began)
	// A round takes a read at least, and is followed by a rest of four.
	if most := int64(took/(roundShare*slow.takes)) + 2; reads > most || reads < 1 {
		t.Errorf("%d rounds in %v, at most %d rest", reads, took, most)
	}
	after := slow.reads.Load()
	c.Wake()
	for deadline := time.Now().Add(time.Minute); slow.reads.Load() <= after; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the last event is not taken in")
		}
	}
	stop()
	<-over
}
