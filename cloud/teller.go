package cloud

import (
	"encoding/json"
	"fmt"
	"time"

	"fsub/cloud/records"
	"fsub/federation/driver"
)

// Pools implements driver.PoolTeller.
func (d *Driver) Pools() []driver.PoolStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	var all []driver.PoolStatus
	for _, p := range d.pools.all {
		all = append(all, d.fleet.statusOf(p, now))
	}
	return all
}

func (f *fleet) statusOf(p *pool, now time.Time) driver.PoolStatus {
	s := driver.PoolStatus{Site: f.cfg.Site, Name: p.Name, Min: p.Min, Max: p.Max, Daily: p.Daily, Monthly: p.Monthly, Stopped: p.overBudget(now), Note: f.cfg.Note}
	p.spent.roll(now)
	s.Today, s.Month = p.spending(now)
	for _, a := range p.allowances(now) {
		switch a.Name {
		case today:
			s.BoundToday = a.Bound
		case thisMonth:
			s.BoundMonth = a.Bound
		}
	}
	for _, ng := range p.groups {
		for _, m := range ng.machines {
			s.PricePerHour += m.Price
			switch {
			case m.State == machineEnding:
				s.Ending++
			case m.State != machineUp:
				s.Starting++
			case len(m.runs) > 0, m.keeper != nil:
				s.Busy++
			default:
				s.Idle++
			}
		}
	}
	s.Cooling = f.cool.of(p.groups)
	s.Waiting = p.waiting()
	return s
}

// MachineOf reads a machine's record in the records, as of now.
func MachineOf(r records.PoolRecord, now time.Time) (driver.Machine, error) {
	var m machineRecord
	if err := json.Unmarshal(r.Data, &m); err != nil {
		return driver.Machine{}, fmt.Errorf("machine %s in the records of %s cannot be read: %w", r.ID, r.Site, err)
	}
	return m.told(r, now), nil
}

// Machine is what a machine that is there does now, which is not in the records each time that it begins another job. false: there is none.
func (d *Driver) Machine(id string) (driver.Machine, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.fleet.machines[MachineID(id)]
	if m == nil {
		return driver.Machine{}, false
	}
	r, _ := m.Record()
	r.Site = d.cfg.Site
	for _, run := range m.runs {
		r.Job = max(r.Job, run.job.id()) // of several the newest
	}
	return m.machineRecord.told(r, d.now()), true
}

// told is what others are told of a machine.
func (m *machineRecord) told(r records.PoolRecord, now time.Time) driver.Machine {
	out := driver.Machine{
		Site: r.Site, Pool: m.Pool, ID: r.ID, Name: m.Name, Instance: string(m.Instance), Offering: m.Offering, Market: string(m.Market), PricePerHour: m.Price,
		Job: r.Job, Created: m.Created, Ready: m.Ready, Ended: m.Ended, Cost: m.Cost, IdleCost: m.IdleCost, Why: m.Why,
		State: string(m.State), CPUs: m.CPUs, GPUs: max(m.GPUs, len(m.Devices)), GPUType: m.GPUType, Stray: m.Stray, GangWait: m.Meter.GangWait, Drained: m.Meter.Drained,
	}
	if m.State == machineBooting || m.State == machineAsked {
		out.State = "starting"
	}
	if m.Ended.IsZero() && !m.Created.IsZero() {
		busy := m.Busy
		if !m.BusyFrom.IsZero() {
			busy += now.Sub(m.BusyFrom)
		}
		out.Cost = m.within(m.Created, now)
		out.IdleCost = out.Cost - min(out.Cost, m.Price.For(busy))
		if m.State == machineUp && m.BusyFrom.IsZero() {
			out.State = "idle"
		} else if m.State == machineUp {
			out.State = "busy"
		}
	}
	return out
}
