package leader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// process is one start of a daemon. One that was killed reaches nothing any more, and trusts in nothing.
type process struct {
	*table
	name string
	dead atomic.Bool
}

func (p *process) alive(ctx context.Context, do func() error) error {
	if p.dead.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return do()
}

func (p *process) Take(ctx context.Context, h Holder, ttl time.Duration) (epoch int64, err error) {
	err = p.alive(ctx, func() error { epoch, err = p.table.Take(ctx, h, ttl); return err })
	return epoch, err
}

func (p *process) TakeFrom(ctx context.Context, from int64, h Holder, ttl time.Duration) (epoch int64, err error) {
	err = p.alive(ctx, func() error { epoch, err = p.table.TakeFrom(ctx, from, h, ttl); return err })
	return epoch, err
}

func (p *process) Extend(ctx context.Context, epoch int64, ttl time.Duration) error {
	return p.alive(ctx, func() error { return p.table.Extend(ctx, epoch, ttl) })
}

func (p *process) Resign(ctx context.Context, epoch int64) error {
	return p.alive(ctx, func() error { return p.table.Resign(ctx, epoch) })
}

// reign is a time for which a process trusted its lease.
type reign struct {
	who         string
	epoch       int64
	from, until time.Time
}

// history is three daemons over ten minutes, in which the database is slow and answers get lost, connections end, and daemons hang and are killed and started again.
type history struct {
	table *table
	rng   *rand.Rand // under table.mu, as what follows
	lives map[string]*process

	reigns []reign
	kills  int
}

func newHistory(seed uint64) *history {
	h := &history{table: &table{cut: map[string]bool{}, gone: map[string]bool{}}, rng: rand.New(rand.NewPCG(seed, 1)), lives: map[string]*process{}}
	h.table.faults = func() (before, after time.Duration, lost bool) {
		return h.mostly(20 * time.Millisecond), h.mostly(20 * time.Millisecond), h.draw(10) == 0
	}
	return h
}

// draw is a number below n.
func (h *history) draw(n int) int {
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return h.rng.IntN(n)
}

// mostly is less than a duration, but one time in eight up to eight seconds.
func (h *history) mostly(d time.Duration) time.Duration {
	if h.draw(8) == 0 {
		d = 8 * time.Second
	}
	return time.Duration(h.draw(int(d)))
}

// daemon starts a daemon again and again. knows is what the others may learn of the end of its processes.
func (h *history) daemon(ctx context.Context, name string, knows func(*history, Holder) bool) {
	for ctx.Err() == nil {
		p := &process{table: h.table, name: name}
		h.table.mu.Lock()
		h.lives[name] = p
		h.table.mu.Unlock()
		life, kill := context.WithCancel(ctx)
		go h.end(life, p, kill)
		for life.Err() == nil {
			e := Elector{Table: p, Self: Holder{Name: name}, Dead: func(ctx context.Context, other Holder) bool {
				sleep(ctx, h.mostly(5*time.Millisecond))
				return knows(h, other)
			}}
			e.Lead(life, func(ctx context.Context, term *Term) error { return h.reign(ctx, p, term) })
		}
		sleep(ctx, h.mostly(time.Second))
	}
}

// end has a process lose its connection at times, and be killed in the end.
func (h *history) end(ctx context.Context, p *process, kill func()) {
	for range h.draw(6) {
		if sleep(ctx, time.Duration(h.draw(int(20*time.Second)))) != nil {
			return
		}
		h.table.mu.Lock()
		h.table.gone[p.name] = true
		h.table.mu.Unlock()
	}
	if sleep(ctx, time.Duration(h.draw(int(20*time.Second)))) != nil {
		return
	}
	h.table.mu.Lock()
	p.dead.Store(true)
	h.table.gone[p.name], h.kills = true, h.kills+1
	delete(h.lives, p.name)
	h.table.mu.Unlock()
	kill()
}

// reign notes for how long a process trusts. At times it hangs between two looks.
func (h *history) reign(ctx context.Context, p *process, term *Term) error {
	r := reign{who: p.name, epoch: term.Epoch, from: time.Now()}
	for term.Trusted() && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		if h.draw(500) == 0 {
			time.Sleep(h.mostly(time.Second))
		}
		if term.Trusted() && !p.dead.Load() {
			r.until = time.Now()
		}
	}
	if !r.until.IsZero() {
		h.table.mu.Lock()
		h.reigns = append(h.reigns, r)
		h.table.mu.Unlock()
	}
	return ctx.Err()
}

// run runs a history, and returns the pairs of reigns that overlap.
func (h *history) run(t *testing.T, knows func(*history, Holder) bool) (both [][2]reign) {
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		wg.Go(func() { h.daemon(ctx, name, knows) })
	}
	wg.Wait()
	if len(h.reigns) < 5 || h.kills < 5 {
		t.Fatalf("%d terms, %d kills: the faults were too mild, or nobody leads", len(h.reigns), h.kills)
	}
	slices.SortFunc(h.reigns, func(a, b reign) int { return a.from.Compare(b.from) })
	for i := 1; i < len(h.reigns); i++ {
		a, b := h.reigns[i-1], h.reigns[i]
		if b.from.Before(a.until) || b.epoch <= a.epoch {
			both = append(both, [2]reign{a, b})
		}
	}
	return both
}

// refused is the kernel's word: no process of the daemon lives. It is late at times, or does not come.
func refused(h *history, other Holder) bool {
	if h.draw(4) == 0 {
		return false
	}
	h.table.mu.Lock()
	defer h.table.mu.Unlock()
	return h.lives[other.Name] == nil
}

// Whatever the database's answers take, however many of them are lost, and whichever daemons are killed: never do two daemons trust their leases at one time.
func TestOneLeadsAtATime(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(seed)
				for _, pair := range h.run(t, refused) {
					a, b := pair[0], pair[1]
					t.Errorf("%s (epoch %d) led until %v, %s (epoch %d) from %v", a.who, a.epoch, a.until, b.who, b.epoch, b.from)
				}
			})
		})
	}
}

// A network that refuses connections in the name of a machine that lives is the one thing by which two daemons can trust their leases at one time, and only while the
// older one has no connection to the database. Their epochs tell which is the older.
func TestRefusedByAnother(t *testing.T) {
	overlaps := 0
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(seed)
			for _, pair := range h.run(t, func(*history, Holder) bool { return true }) {
				a, b := pair[0], pair[1]
				overlaps++
				if b.epoch == a.epoch {
					t.Errorf("%s and %s led in epoch %d", a.who, b.who, a.epoch)
				}
			}
		})
	}
	if overlaps == 0 {
		t.Error("no two daemons trusted their leases at one time: the histories show nothing")
	}
}
