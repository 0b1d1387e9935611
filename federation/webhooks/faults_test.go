package webhooks

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation/audit"
	"fsub/federation/records"
)

// What answers in odd ways: too late is no answer and is tried again, an answer that never ends is not read, and who has too much gets one event a second.
func TestOddAnswers(t *testing.T) {
	was := postTime
	postTime = 100 * time.Millisecond
	t.Cleanup(func() { postTime = was })
	w := newWorld(t)
	late := newReceiver(t, func(n int, _ http.ResponseWriter) {
		if n == 1 {
			time.Sleep(2 * postTime)
		}
	})
	var sent atomic.Int64
	endless := newReceiver(t, func(_ int, rw http.ResponseWriter) {
		for line := []byte(strings.Repeat("x", 1<<16)); sent.Load() < 10<<30; {
			n, err := rw.Write(line)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	busy := newReceiver(t, func(n int, rw http.ResponseWriter) {
		if n == 1 {
			rw.WriteHeader(http.StatusTooManyRequests)
		}
	})
	for name, r := range map[string]*receiver{"late": late, "endless": endless, "busy": busy} {
		w.add(name, r.URL, 1)
	}
	w.src.add(2)
	w.start()
	late.wait(2)
	if got := late.seen(); !slices.Equal(got, []string{"101.0", "101.0"}) {
		t.Errorf("late: %v", got)
	}
	if tries := w.hub.Deliveries("ann", "late"); len(tries) == 0 || !strings.HasPrefix(tries[len(tries)-1].Result, "no answer within") {
		t.Errorf("late: %+v", tries)
	}
	endless.wait(1)
	if n := sent.Load(); n > 64<<20 { // what the kernel's buffers take
		t.Errorf("endless: %d bytes", n)
	}
	busy.wait(2)
	if limit := w.hub.worker("ann", "busy").rate.Limit(); limit != 1 {
		t.Errorf("after 429: %v events a second", limit)
	}
}

// mortal is a store that no longer answers once its daemon has been killed.
type mortal struct {
	records.Store
	dead atomic.Bool
}

var errKilled = errors.New("killed")

func (m *mortal) PutRecord(ctx context.Context, r *records.Record, entries ...audit.Entry) error {
	if m.dead.Load() {
		return errKilled
	}
	return m.Store.PutRecord(ctx, r, entries...)
}

// Whenever the daemon is killed, each event is delivered at least once, those that are new in order, and what comes twice has the ID that it had.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	r := newReceiver(t, func(n int, rw http.ResponseWriter) {
		if n%5 == 0 {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	w.add("a", r.URL, 1)
	rng := rand.New(rand.NewPCG(1, 1))
	const kills, more = 20, 4
	for range kills {
		m := &mortal{Store: w.st}
		w.records = m
		w.start()
		w.src.add(2 * more)
		r.wait(rng.IntN(2 * more))
		m.dead.Store(true)
		w.end()
		for len(r.more) > 0 {
			<-r.more
		}
	}
	w.records = w.st
	w.start()
	last := ids(100+2*more*kills-1, 100+2*more*kills-1, 1)[0]
	for r.delivered(last) == 0 {
		<-r.more
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var first []string
	for _, id := range r.good {
		if !slices.Contains(first, id) {
			first = append(first, id)
		}
	}
	if want := ids(101, 100+2*more*kills, 2); !slices.Equal(first, want) {
		t.Errorf("%v, want %v", first, want)
	}
	if len(r.good) == len(first) {
		t.Error("nothing came twice: nothing was tried")
	}
}
