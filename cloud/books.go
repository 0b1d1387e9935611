package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fsub/federation"
)

// entity is something that has a record: a job, a gang or a machine.
type entity interface {
	// record is what is to be written of it now.
	record() (r federation.PoolRecord, data any)
}

// page is what is written together: all changes since the page before was taken to the store.
type page struct {
	order  []entity
	has    map[entity]bool
	after  []func()      // run under the driver's lock once the page is durable
	done   chan struct{} // closed then
	err    error         // of the last try, if it failed; set under the driver's lock
	failed chan struct{} // closed at the first failure
}

func newPage() *page {
	return &page{has: map[entity]bool{}, done: make(chan struct{}), failed: make(chan struct{})}
}

// put has an entity written with the open page. The caller holds the lock.
func (d *Driver) put(e entity) {
	if !d.page.has[e] {
		d.page.has[e] = true
		d.page.order = append(d.page.order, e)
	}
	select {
	case d.written <- struct{}{}:
	default:
	}
}

// after has f called, under the lock, when what was put so far is durable. At once, if there is nothing to be written.
func (d *Driver) after(f func()) {
	d.page.after = append(d.page.after, f)
	select {
	case d.written <- struct{}{}:
	default:
	}
}

// durable waits for a page. ErrUnavailable: it could not be written yet; it still may be.
func (d *Driver) durable(ctx context.Context, p *page) error {
	select {
	case <-p.done:
		return nil
	case <-p.failed:
		d.mu.Lock()
		defer d.mu.Unlock()
		return fmt.Errorf("the pool's books: %w: %w", p.err, federation.ErrUnavailable)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ctx.Err(), federation.ErrUnavailable)
	case <-d.ctx.Done():
		return fmt.Errorf("the daemon ends: %w", federation.ErrUnavailable)
	}
}

// write takes pages to the store, one after the other, until ctx is done. What could not be written is tried again with the next page.
func (d *Driver) write(ctx context.Context) {
	wait := time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.written:
		}
		for d.writePage(ctx) {
			wait = min(max(2*wait, 50*time.Millisecond), 5*time.Second)
			if !sleep(ctx, wait) {
				return
			}
		}
		wait = 0
	}
}

// writePage writes the open page and reports whether that failed.
func (d *Driver) writePage(ctx context.Context) (again bool) {
	d.mu.Lock()
	p := d.page
	d.page = newPage()
	put := make([]federation.PoolRecord, 0, len(p.order))
	for _, e := range p.order {
		r, data := e.record()
		var err error
		if r.Data, err = json.Marshal(data); err != nil {
			panic(fmt.Sprintf("a record cannot be written: %v", err)) // a type without JSON: a defect, found by the first test
		}
		r.Site = d.cfg.Site
		put = append(put, r)
	}
	d.mu.Unlock()
	var err error
	if len(put) > 0 {
		err = d.cfg.Store.CommitPool(ctx, d.cfg.Site, put)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.log.Error("write the pool's books", "err", err)
		d.unwritten(p, err)
		return true
	}
	for _, e := range p.order {
		if j, ok := e.(*job); ok {
			j.written = true
			d.publish(j)
		}
	}
	for _, f := range p.after {
		f()
	}
	close(p.done)
	return false
}

// unwritten puts a page that could not be written before the open one, and tells those who wait for it.
func (d *Driver) unwritten(p *page, err error) {
	if p.err == nil {
		close(p.failed)
	}
	p.err = err
	next := d.page
	merged := newPage()
	for _, e := range append(p.order, next.order...) {
		if !merged.has[e] {
			merged.has[e] = true
			merged.order = append(merged.order, e)
		}
	}
	// Who waits for the open page goes on waiting for it; what was to follow the failed one follows it.
	next.order, next.has = merged.order, merged.has
	next.after = append(append(p.after, func() { close(p.done) }), next.after...)
}

// sleep waits; false: ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
