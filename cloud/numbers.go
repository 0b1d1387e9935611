package cloud

import (
	"context"
	"slices"
	"sync"
	"time"

	"fsub/cloud/records"
)

// numbers are drawn for gangs to come.
type numbers struct {
	*base
	pools   *pools
	free    []int64
	drawing bool
	draws   int // since the last look at the clock
}

// The least and the most numbers that are drawn at a time.
const (
	drawLeast = 16
	drawMost  = 256
)

// next returns a number that no gang has had. It returns 0 if there is none just now: then drawn is called, under the lock, once there are more.
func (ns *numbers) next(drawn func()) int64 {
	if len(ns.free) == 0 {
		ns.draw(drawn)
		return 0
	}
	n := ns.free[0]
	ns.free = ns.free[1:]
	return n
}

// back takes the number of a gang that nobody has been told of.
func (ns *numbers) back(n int64) { ns.free = append(ns.free, n) }

// tick notes a look at the clock.
func (ns *numbers) tick() { ns.draws = 0 }

// draw gets numbers for gangs to come, so that a gang need not wait for one.
func (ns *numbers) draw(drawn func()) {
	if ns.drawing {
		return
	}
	ns.drawing = true
	count := min(drawLeast<<ns.draws, drawMost) // the more, the sooner the last were used up
	ns.draws++
	ns.spawn(func(ctx context.Context) {
		for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
			numbers, err := ns.drawMany(ctx, count)
			ns.mu.Lock()
			ns.free = append(ns.free, numbers...)
			if err == nil {
				ns.drawing = false
				ns.pools.wake()
				drawn()
				ns.mu.Unlock()
				return
			}
			ns.mu.Unlock()
			ns.log.Error("draw numbers for machines", "err", err)
			if !sleep(ctx, wait) {
				return
			}
		}
	})
}

// drawMany draws several at the same time, so that they share a commit of the store.
func (ns *numbers) drawMany(ctx context.Context, count int) (numbers []int64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range count {
		wg.Go(func() {
			n, failed := ns.cfg.Store.NextPoolNumber(ctx, ns.cfg.Site, records.PoolGang)
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = failed
				return
			}
			numbers = append(numbers, n)
		})
	}
	wg.Wait()
	slices.Sort(numbers)
	return numbers, err
}
