package cloud

import (
	"context"
	"sync"
	"time"
)

const (
	answerTime = 3 * time.Second        // how long the end of a run waits for the answer of a command inside it
	readTime   = 100 * time.Millisecond // for the command to read its answer and exit; slurmctld's SIGTERM comes about as late
)

// asks are the runs whose own commands have asked for something and have no answer yet.
type asks struct {
	mu   sync.Mutex
	open map[string]*ask
}

// ask is what the commands of one run wait for.
type ask struct {
	n        int
	answered chan struct{} // closed when nothing waits any more
}

// begin notes a command of the run that waits until answered is called.
func (a *asks) begin(run string) (answered func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open = map[string]*ask{}
	}
	if a.open[run] == nil {
		a.open[run] = &ask{answered: make(chan struct{})}
	}
	a.open[run].n++
	return sync.OnceFunc(func() { a.end(run) })
}

func (a *asks) end(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.open[run]
	if w.n--; w.n == 0 {
		close(w.answered)
		delete(a.open, run)
	}
}

// of returns what is closed when the run's commands have their answers; nil: none waits.
func (a *asks) of(run string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.open[run]; w != nil {
		return w.answered
	}
	return nil
}

// tellStop shows the run's machines that it is to be ended: at once, or after the answer of a command inside the run, which may be what asked for it.
func (rs *runs) tellStop(r *run) {
	answered := rs.asks.of(r.ID)
	if answered == nil {
		rs.bumpAfter(r)
		return
	}
	rs.spawn(func(ctx context.Context) {
		late := time.NewTimer(answerTime)
		defer late.Stop()
		select {
		case <-answered:
			sleep(ctx, readTime)
		case <-late.C:
		case <-ctx.Done(): // the next life of the daemon reads it in the records
		}
		rs.locked(func() { rs.bumpAfter(r) })
	})
}
