package share

import (
	"context"
	"math"
	"sync"
	"time"
)

// Turns divide the processors' time among users: few work at a time, and whoever has worked least lately is next. So one who comes seldom is served
// at once, however many others ask without a pause.
//
// Work counts by the time from the begin of a turn to its end. One who waits, for a disk, for what a caller sends or reads, gives the turn back meanwhile: [Idle].
type Turns struct {
	now   func() time.Time
	most  int // who work at a time
	spare int // and so many more who have hardly worked lately

	mu    sync.Mutex
	works int
	users map[uint32]*worker
}

// worker is a user who works, waits, or has worked lately.
type worker struct {
	used  float64   // seconds of work, of which older ones count less and less
	at    time.Time // when it was so
	works int
	waits []chan struct{} // closed when it is its turn
}

const (
	// forgets is after how long work counts for 1/e.
	forgets = 30 * time.Second
	// hardly is how much work of late, in seconds, still finds a spare turn: a hundredth of a processor's.
	hardly = 0.3
)

// NewTurns lets so many work at a time, and spare more who have hardly worked lately.
func NewTurns(most, spare int) *Turns {
	return &Turns{now: time.Now, most: most, spare: spare, users: map[uint32]*worker{}}
}

// used is w's work of late.
func (t *Turns) used(w *worker) float64 {
	now := t.now()
	if past := now.Sub(w.at); past > 0 {
		w.used *= math.Exp(-past.Seconds() / forgets.Seconds())
	}
	w.at = now
	return w.used
}

// free reports whether a user could begin now.
func (t *Turns) free(w *worker) bool {
	return t.works < t.most || t.works < t.most+t.spare && w.works == 0 && t.used(w) < hardly
}

// Turn is one's turn. It is for one goroutine.
type Turn struct {
	all   *Turns
	user  *worker
	began time.Time // zero: it was given back
	held  int       // see [Hold]
}

// Take waits for a turn of a user's; call Done in the end. It fails when ctx ends.
func (t *Turns) Take(ctx context.Context, uid uint32) (*Turn, error) {
	t.mu.Lock()
	w := t.users[uid]
	if w == nil {
		t.forget()
		w = &worker{at: t.now()}
		t.users[uid] = w
	}
	turn := &Turn{all: t, user: w}
	return turn, turn.begin(ctx)
}

// begin is called with the lock, and gives it back.
func (n *Turn) begin(ctx context.Context) error {
	t, w := n.all, n.user
	if len(w.waits) == 0 && t.free(w) {
		t.works++
		w.works++
		t.mu.Unlock()
		n.began = t.now()
		return nil
	}
	mine := make(chan struct{})
	w.waits = append(w.waits, mine)
	t.mu.Unlock()
	select {
	case <-mine:
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		for i, c := range w.waits {
			if c == mine {
				w.waits = append(w.waits[:i], w.waits[i+1:]...)
				return ctx.Err()
			}
		}
		// It was given in this very moment.
		t.end(w, 0)
		return ctx.Err()
	}
	n.began = t.now()
	return nil
}

// Done ends the turn.
func (n *Turn) Done() {
	if n.began.IsZero() {
		return
	}
	t := n.all
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(n.user, t.now().Sub(n.began))
	n.began = time.Time{}
}

// again takes the turn back, however long that takes: who has begun comes to an end.
func (n *Turn) again() {
	n.all.mu.Lock()
	_ = n.begin(context.Background())
}

// end counts work and lets the next begin.
func (t *Turns) end(w *worker, worked time.Duration) {
	w.used = t.used(w) + worked.Seconds()
	w.works--
	t.works--
	for t.next() {
	}
}

// next lets one begin who waits: the one who has worked least. It reports whether there was one.
func (t *Turns) next() bool {
	var least *worker
	for _, w := range t.users {
		if len(w.waits) > 0 && t.free(w) && (least == nil || w.works < least.works || w.works == least.works && t.used(w) < t.used(least)) {
			least = w
		}
	}
	if least == nil {
		return false
	}
	close(least.waits[0])
	least.waits = least.waits[1:]
	least.works++
	t.works++
	return true
}

// forget drops users of whom nothing counts any more, when there are many.
func (t *Turns) forget() {
	if len(t.users) < 1000 {
		return
	}
	for uid, w := range t.users {
		if w.works == 0 && len(w.waits) == 0 && t.used(w) < hardly/100 {
			delete(t.users, uid)
		}
	}
}

type turnKey struct{}

// With is ctx with a turn, for [Idle].
func With(ctx context.Context, n *Turn) context.Context { return context.WithValue(ctx, turnKey{}, n) }

// Asked reports whether ctx is that of somebody's request, with a turn or, where With was given nil, without one.
func Asked(ctx context.Context) bool {
	_, ok := ctx.Value(turnKey{}).(*Turn)
	return ok
}

// Hold says that so many bytes more are held until the end of the turn of ctx, also while it is given back.
func Hold(ctx context.Context, n int) {
	if t, _ := ctx.Value(turnKey{}).(*Turn); t != nil {
		t.held += n
	}
}

// Held are the bytes that Hold was told of.
func Held(ctx context.Context) int {
	if t, _ := ctx.Value(turnKey{}).(*Turn); t != nil {
		return t.held
	}
	return 0
}

// Idle gives the turn of ctx back while its owner waits for something else than a processor, and returns how to go on after that. Without a turn it does nothing.
func Idle(ctx context.Context) (again func()) {
	n, _ := ctx.Value(turnKey{}).(*Turn)
	if n == nil || n.began.IsZero() {
		return func() {}
	}
	n.Done()
	return n.again
}
