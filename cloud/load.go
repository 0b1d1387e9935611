package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
)

// load reads the records. Nobody else looks at the driver's state yet, and nothing of it is changed before all is read: what fails is done again.
func (d *Driver) load(ctx context.Context) error {
	now := d.now()
	stored, err := d.cfg.Store.LoadPool(ctx, d.cfg.Site, now.Add(-d.t.Keep))
	if err != nil {
		return err
	}
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	ended, err := d.cfg.Store.PoolHistory(ctx, d.cfg.Site, records.PoolMachine, month, 1<<20)
	if err != nil {
		return err
	}
	numbers, err := d.numbers.drawMany(ctx, drawLeast)
	if err != nil {
		return err
	}
	if err := d.starts.enter(ctx, stored, now); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.numbers.free = numbers
	for _, kind := range []records.PoolKind{records.PoolGang, records.PoolMachine, records.PoolJob, records.PoolCool, records.PoolOdds, records.PoolRisk} {
		for _, r := range stored {
			if r.Kind != kind {
				continue
			}
			if err := d.loadRecord(r); err != nil {
				return fmt.Errorf("record %s %s of site %s cannot be read: %w: %w", r.Kind, r.ID, d.cfg.Site, err, federation.ErrInvalid)
			}
		}
	}
	d.fleet.loadSpent(ended, now)
	for _, p := range d.pools.all {
		p.spent.why = p.overBudget(now)
	}
	return nil
}

func (d *Driver) loadRecord(r records.PoolRecord) error {
	switch r.Kind {
	case records.PoolGang:
		g := &gang{}
		if err := json.Unmarshal(r.Data, &g.gangRecord); err != nil || !r.Closed.IsZero() {
			return err
		}
		d.fleet.loadGang(g)
	case records.PoolMachine:
		var m machineRecord
		if err := json.Unmarshal(r.Data, &m); err != nil || !r.Closed.IsZero() {
			return err
		}
		d.fleet.met = d.fleet.met || !m.Ready.IsZero()
		d.fleet.loadMachine(m, r.ID)
	case records.PoolJob:
		j := &job{written: true}
		if err := json.Unmarshal(r.Data, &j.jobRecord); err != nil {
			return err
		}
		d.loadJob(j)
	case records.PoolCool:
		return d.cool.load(r)
	case records.PoolOdds:
		return d.cool.loadAvailability(r)
	case records.PoolRisk:
		return d.cool.loadRisk(r)
	}
	return nil
}

func (d *Driver) loadJob(j *job) {
	if d.jobs.load(j); !j.End.IsZero() {
		return
	}
	if j.Kept != nil {
		for _, id := range j.Kept.Machines {
			if m := d.fleet.machines[id]; m != nil && m.usable(j.User.Name) {
				m.keeper = j
			}
		}
	}
	if j.Run == nil || !j.holds() {
		d.queue.enqueue(j)
		return
	}
	r := &run{runRecord: j.Run, job: j, steps: j.Steps, visible: j.State != federation.Pending, told: j.Run.Stop, sent: make([]bool, len(j.Run.Members))}
	for i := range r.Members {
		k := &r.Members[i]
		m := d.fleet.machines[k.Machine]
		if m == nil {
			d.runs.lostRun(j, k)
			return
		}
		r.machines = append(r.machines, m)
		r.sent[i] = m.State == machineUp // it may have been told
	}
	j.run = r
	r.limit, r.suspended, r.gone = j.limit(r.machines[0].pool), j.State == federation.Suspended, r.Gone
	for i, m := range r.machines {
		k := &r.Members[i]
		m.cpus += k.CPUs
		m.mem += k.Mem
		for _, n := range k.GPUs {
			m.gpus[n] = true
		}
		m.runs[r.ID] = r
		if m.BusyFrom.IsZero() && m.State != machineAsked {
			m.BusyFrom = m.Created
			if !j.Start.IsZero() {
				m.BusyFrom = j.Start
			}
		}
		if !m.pool.Shared && d.cfg.Boot.PowerOff {
			m.User = j.User.Name
		}
	}
}

// resume goes on where the last daemon was: the loops run already.
func (d *Driver) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.fleet.gangs {
		switch g.State {
		case gangAsked:
			if d.now().After(g.Expires) && g.Offering.Queue == 0 { // whatever came of it comes too late; the listing finds it
				d.rent.gangFailed(g, "the daemon was away for too long", true)
				continue
			}
			g.calling = true
			g.Lives++
			d.put(g)
			d.after(func() {
				d.spawn(func(ctx context.Context) {
					if sleep(ctx, g.again()) {
						d.rent.create(ctx, g, true)
					}
				})
			})
		default:
			d.fleet.resumeMade(g)
		}
	}
	for _, j := range d.jobs.byID {
		if r := j.run; r != nil {
			if r.Stop != nil && r.End == nil && j.State == federation.Completing {
				continue // its agents end it
			}
			d.runs.settle(r)
			d.runs.advance(r)
		}
	}
	d.scheduler.schedule()
	d.sweeps.endSoon()
}
