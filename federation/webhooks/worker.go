package webhooks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"fsub/federation"
	"fsub/federation/journal"
)

// worker delivers to one endpoint, one event after the other, for as long as its definition stays as it is.
type worker struct {
	hub   *Hub
	is    *Endpoint
	meets func() func(*Event) bool
	stop  context.CancelFunc
	rate  *rate.Limiter
	slow  int // deliveries that are left at the slower rate that the endpoint has asked for
	kick  chan struct{}

	wide   bool // as it was at wideAt, for the Hub
	wideAt time.Time

	mu    sync.Mutex
	idle  bool // it waits for what follows at.Mark
	at    State
	saved time.Time
	dirty bool // at differs from what is stored
	last  []Try
}

// Try is one try to deliver an event.
type Try struct {
	At     time.Time
	ID     string // of the event
	Type   string
	Number int           // from 1
	Took   time.Duration // until the answer
	Result string        // what was answered, or why nothing was
	Good   bool
}

func newWorker(h *Hub, e *Endpoint) (*worker, error) {
	meets, err := h.Source.Filter(&e.Definition)
	if err != nil {
		return nil, err
	}
	return &worker{hub: h, is: e, meets: meets, at: e.State, saved: h.Now(), kick: make(chan struct{}, 1), rate: rate.NewLimiter(PerSecond, PerSecond)}, nil
}

func (w *worker) state() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *worker) tried() int { return w.state().Tries }

func (w *worker) tries() []Try {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Try, 0, len(w.last))
	for i := len(w.last) - 1; i >= 0; i-- {
		out = append(out, w.last[i])
	}
	return out
}

// slowFor is how many events an endpoint gets one a second after it has said that they are too many.
const slowFor = 300

const pageOf = 256 // events that a worker looks at, at a time

// run delivers until ctx is done, or the endpoint is off.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		at := w.state()
		events, to, known := w.hub.tail.from(at.Mark, at.Index, pageOf)
		if !known {
			var err error
			if events, to, err = w.read(ctx, at.Mark); err != nil {
				w.hub.Logger.Debug("webhook: the log was not read", "webhook", w.is.Name, "user", w.is.Owner, "err", err)
				wait(ctx, time.Second)
				continue
			}
			if len(events) == 0 && to == at.Mark {
				wait(ctx, lookAgain) // the Hub has not begun
				continue
			}
		}
		meets := w.meets()
		var past *Event // the last that is not for it
		for i := range events {
			e := &events[i]
			switch {
			case e.Mark < at.Mark || e.Mark == at.Mark && e.Index <= at.Index: // delivered
			case e.At.Before(w.is.Since) || !meets(e):
				past = e
			case w.one(ctx, e):
				past, meets = nil, w.meets() // that may have taken days
			default:
				w.rest()
				return
			}
		}
		if past != nil {
			w.moved(past.Mark, past.Index)
		}
		if to > at.Mark {
			w.moved(to, allOf)
		}
		w.save(ctx, false)
		if known && len(events) == 0 {
			w.await(ctx)
		}
	}
	w.rest()
}

// await waits until the Hub has something for it, or it is time to write down that there was nothing.
func (w *worker) await(ctx context.Context) {
	set := func(idle bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.idle = idle
	}
	set(true)
	defer set(false)
	t := time.NewTimer(restEvery + rand.N(restEvery/10))
	defer t.Stop()
	select {
	case <-w.kick:
	case <-t.C:
	case <-ctx.Done():
	}
}

// passed has a worker that waits at a mark wait at a later one. It reports whether it does.
func (w *worker) passed(from, to journal.Mark) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.idle || w.at.Mark != from {
		return false
	}
	w.at.Mark, w.at.Index, w.dirty = to, allOf, true
	return true
}

// wideFor is how long it is not asked again how much an endpoint's owner may see.
const wideFor = 5 * time.Second

func (w *worker) isWide() bool {
	if now := w.hub.Now(); now.Sub(w.wideAt) >= wideFor {
		w.wide, w.wideAt = w.hub.Source.Wide(&w.is.Definition), now
	}
	return w.wide
}

// rest writes down how far the endpoint has come, though the daemon stops.
func (w *worker) rest() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	w.save(ctx, true)
}

// allOf is an index that no event of a commit has.
const allOf = 1 << 30

// read reads the log by itself, since the endpoint is behind. Few do at a time.
func (w *worker) read(ctx context.Context, mark journal.Mark) (events []Event, to journal.Mark, err error) {
	select {
	case w.hub.behind <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	defer func() { <-w.hub.behind }()
	page, err := w.hub.Source.Events(ctx, mark)
	if errors.Is(err, federation.ErrTrimmed) {
		w.remember(Try{At: w.hub.Now(), Result: "the log of changes no longer goes back so far: events are lost"})
		w.mu.Lock()
		w.at.Error = "events were lost: the log of changes no longer went back so far"
		w.mu.Unlock()
		page, err = w.hub.Source.Events(ctx, journal.OldestMark)
	}
	return page.Events, page.Mark, err
}

// one delivers an event, as often as that takes. It reports whether to go on.
func (w *worker) one(ctx context.Context, e *Event) bool {
	for {
		if s := w.state(); s.Tries > 0 && !wait(ctx, s.Next.Sub(w.hub.Now())) {
			return false
		}
		if w.rate.Wait(ctx) != nil {
			return false
		}
		t, after := w.hub.post(ctx, w.is, e)
		if ctx.Err() != nil && !t.Good { // what was taken just before the end is written down
			return false
		}
		w.mu.Lock()
		w.at.Tries++
		t.Number = w.at.Tries
		w.mu.Unlock()
		w.remember(t)
		switch {
		case t.Good:
			w.hub.counts.WithLabelValues("delivered").Inc()
			w.mu.Lock()
			w.at.Tries, w.at.Next, w.at.Error = 0, time.Time{}, ""
			w.at.Delivered++
			w.at.Last = t.At
			w.mu.Unlock()
			if w.slow--; w.slow == 0 {
				w.rate.SetLimit(PerSecond)
			}
			w.moved(e.Mark, e.Index)
			w.save(ctx, false)
			return true
		case after.gone:
			w.hub.counts.WithLabelValues("gone").Inc()
			w.off(ctx, t.Result)
			return false
		case t.Number >= Tries:
			w.hub.counts.WithLabelValues("off").Inc()
			w.off(ctx, fmt.Sprintf("%d tries over three days failed, the last one: %s", t.Number, t.Result))
			return false
		}
		w.hub.counts.WithLabelValues("failed").Inc()
		if after.slow {
			w.rate.SetLimit(1)
			w.slow = slowFor
		}
		w.mu.Lock()
		w.at.Next, w.at.Error = w.hub.Now().Add(max(delay(t.Number), after.wait)), t.Result
		w.dirty = true
		w.mu.Unlock()
		w.save(ctx, true)
	}
}

func (w *worker) moved(mark journal.Mark, index int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at.Mark, w.at.Index, w.dirty = mark, index, true
}

func (w *worker) remember(t Try) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last = append(w.last, t); len(w.last) > keepTries {
		w.last = w.last[1:]
	}
}

// off switches the endpoint off, and tells its owner.
func (w *worker) off(ctx context.Context, why string) {
	w.mu.Lock()
	w.at.Off, w.at.Error, w.dirty = why, why, true
	w.mu.Unlock()
	w.save(ctx, true)
	w.hub.Logger.Warn("webhook is off", "webhook", w.is.Name, "user", w.is.Owner, "why", why)
	if w.hub.Tell != nil {
		text := fmt.Sprintf("Your webhook %s gets no more events: %s.\n\nWhat happens meanwhile is kept as long as the log of changes goes back. To go on:\n\n  fed webhook replay %[1]s\n", w.is.Name, why)
		if err := w.hub.Tell(ctx, w.is.Owner, "Webhook "+w.is.Name+" is off", text); err != nil {
			w.hub.Logger.Warn("the owner of a webhook was not told", "webhook", w.is.Name, "user", w.is.Owner, "err", err)
		}
	}
	w.hub.Changed()
}

// save writes down how far the endpoint has come, now and then or now. What its owner has set meanwhile stays.
func (w *worker) save(ctx context.Context, now bool) {
	w.mu.Lock()
	is, since := w.at, w.hub.Now().Sub(w.saved)
	every := restEvery
	if is.Delivered != w.is.Delivered || is.Tries != w.is.Tries {
		every = saveEvery
	}
	due := w.dirty && (now || since >= every)
	w.mu.Unlock()
	if !due {
		return
	}
	select { // few at a time: who submits jobs reads and writes beside them
	case w.hub.saves <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-w.hub.saves }()
	err := w.hub.set.Update(ctx, w.is.Owner, w.is.Name, func(e *Endpoint) bool {
		if e.Turn != w.is.Turn || !e.Made.Equal(w.is.Made) {
			return false
		}
		e.State = is
		return true
	})
	if err != nil && !errors.Is(err, federation.ErrNotFound) {
		return // what is delivered meanwhile is delivered again after a restart
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved, w.dirty = w.hub.Now(), w.at != is
	w.is.Delivered, w.is.State.Tries = is.Delivered, is.Tries
}

// wait waits, and reports whether ctx is not done.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
