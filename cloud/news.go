package cloud

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation/driver"
)

// news tells the controller that there is something to be seen.
type news struct {
	mu     sync.Mutex
	told   func(driver.News)
	nodes_ atomic.Bool
	jobs_  atomic.Bool
	wake   chan struct{}
}

func newNews() *news { return &news{wake: make(chan struct{}, 1)} }

// Notify implements driver.Notifier.
func (d *Driver) Notify(f func(driver.News)) {
	d.news.mu.Lock()
	defer d.news.mu.Unlock()
	d.news.told = f
}

func (n *news) jobs() {
	n.jobs_.Store(true)
	poke(n.wake)
}

func (n *news) nodes() {
	n.nodes_.Store(true)
	poke(n.wake)
}

// follow passes news on: of jobs at once, of nodes not more often than a look at them costs.
func (n *news) follow(ctx context.Context, clock func() time.Time) {
	const nodesEach = 100 * time.Millisecond
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		what := driver.News{Jobs: n.jobs_.Swap(false)}
		if now := clock(); now.Sub(last) >= nodesEach {
			what.Nodes = n.nodes_.Swap(false)
			last = now
		} else if n.nodes_.Load() {
			time.AfterFunc(nodesEach-now.Sub(last), func() { poke(n.wake) })
		}
		n.mu.Lock()
		told := n.told
		n.mu.Unlock()
		if told != nil && (what.Jobs || what.Nodes) {
			told(what)
		}
	}
}
