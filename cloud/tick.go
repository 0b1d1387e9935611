package cloud

import (
	"context"
	"time"
)

// clock looks at the time again and again: at what begins, is late, idle, or overdue.
func (d *Driver) clock(ctx context.Context) {
	last := d.now()
	for sleep(ctx, d.t.Tick) {
		d.mu.Lock()
		last = d.tick(last)
		d.mu.Unlock()
	}
}

// tick does what the time asks for, since the last look.
func (d *Driver) tick(last time.Time) time.Time {
	now := d.now()
	d.numbers.tick()
	d.cool.passed(now, last)
	d.queue.begin(now)
	for _, j := range d.jobs.byID {
		for _, m := range d.runs.overdue(j, now) {
			d.fleet.endMachine(m, m.drain)
		}
		d.scheduler.waitedOut(j, now)
	}
	for _, m := range values(d.fleet.machines) {
		d.fleet.lateMachine(m, now)
	}
	for _, p := range d.pools.all {
		d.rent.tend(p, now)
	}
	d.jobs.tidy(now)
	d.scheduler.schedule()
	d.metrics.look(d.fleet, d.now())
	return now
}
