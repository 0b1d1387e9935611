package api

import (
	"context"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/restd"
	"fsub/federation/journal"
)

// watchGap is the time between two looks at the store's log while somebody waits for a job.
const watchGap = 50 * time.Millisecond

// watch wakes those who wait for a job when that job has changed. It follows the store's log for as long as somebody waits: it does not
// matter which daemon has written the change.
type watch struct {
	store Store

	mu    sync.Mutex
	waits map[federation.JobID]map[chan struct{}]bool
	runs  bool // somebody follows the log
}

// job returns a channel that gets a value when a job has changed after this call, or may have. stop ends that.
func (w *watch) job(ctx context.Context, id federation.JobID) (changed <-chan struct{}, stop func(), err error) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.runs {
		log, err := w.store.Changes(ctx, 0, 0)
		if err != nil {
			return nil, nil, err
		}
		w.runs = true
		go w.follow(log.Mark)
	}
	if w.waits == nil {
		w.waits = map[federation.JobID]map[chan struct{}]bool{}
	}
	if w.waits[id] == nil {
		w.waits[id] = map[chan struct{}]bool{}
	}
	w.waits[id][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.waits[id], c); len(w.waits[id]) == 0 {
			delete(w.waits, id)
		}
	}, nil
}

// follow returns when nobody waits any more. What it has missed, because the store failed or the log was trimmed, wakes everybody.
func (w *watch) follow(mark journal.Mark) {
	for {
		time.Sleep(watchGap)
		news, err := restd.ReadLog(context.Background(), w.store, mark)
		if err != nil {
			news.Mark = 0 // begin again
		}
		w.wake(func(id federation.JobID) bool { return err != nil || mark == 0 || news.Jobs[id] })
		mark = news.Mark
		w.mu.Lock()
		w.runs = len(w.waits) > 0
		over := !w.runs
		w.mu.Unlock()
		if over {
			return
		}
	}
}

func (w *watch) wake(whom func(federation.JobID) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, waiting := range w.waits {
		if !whom(id) {
			continue
		}
		for c := range waiting {
			select {
			case c <- struct{}{}:
			default: // it is awake already
			}
		}
	}
}
