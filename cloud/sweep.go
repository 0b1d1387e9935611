package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"fsub/accounting"
	"fsub/cloud/provider"
	"fsub/federation"
)

// stray is a machine with our tag that no gang in the books has.
type stray struct {
	since   time.Time
	machine machineRecord
	id      MachineID
	asked   time.Time // when it was last asked to be ended
}

func (s *stray) record() (federation.PoolRecord, any) {
	return federation.PoolRecord{Kind: federation.PoolMachine, ID: string(s.id), Closed: s.machine.Ended}, &s.machine
}

// offerings asks again and again what can be rented.
func (d *Driver) offerings(ctx context.Context) {
	if !d.rested(ctx) {
		return
	}
	answered := sync.OnceFunc(func() { close(d.asked) })
	for wait := time.Second; ; {
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := d.cfg.Provider.Offerings(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		next := d.t.Offers
		d.mu.Lock()
		if err != nil {
			d.log.Error("ask what can be rented", "err", err)
			d.offered = err
			next = max(wait, provider.AsError(err).After)
			wait = min(2*wait, d.t.Offers)
		} else {
			wait, d.offered, d.priced = time.Second, nil, true
			for _, p := range d.pools {
				p.offer(list)
				d.capacity(p)
			}
			d.schedule()
		}
		d.news.nodes()
		d.mu.Unlock()
		answered()
		if !sleep(ctx, next) {
			return
		}
	}
}

// list lists the machines once in a while, and sooner while some start or end. However many machines there are, it is one call.
func (d *Driver) list(ctx context.Context) {
	if !d.rested(ctx) {
		return
	}
	for wait := d.t.ListSoon; ; {
		began := d.now()
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := d.cfg.Provider.List(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		d.metrics.listed(err)
		soon := false
		if err != nil {
			d.log.Error("list machines", "err", err)
			wait = min(2*max(wait, provider.AsError(err).After), max(d.t.List, provider.AsError(err).After))
		} else {
			wait = d.t.ListSoon
			d.mu.Lock()
			soon = d.listedNow(began, list)
			d.schedule()
			d.mu.Unlock()
			d.bookEnded(ctx, list)
			d.lookAtTopology(ctx)
		}
		if !sleep(ctx, wait) {
			return
		}
		if err != nil || soon {
			continue
		}
		t := time.NewTimer(max(d.t.List-wait, 0))
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-d.look:
		}
	}
}

// listedNow compares a listing with the books; it reports whether another one is of use soon.
func (d *Driver) listedNow(began time.Time, list []provider.Instance) (soon bool) {
	byInstance := make(map[provider.InstanceID]*machine, len(d.machines))
	for _, m := range d.machines {
		if m.Instance != "" {
			byInstance[m.Instance] = m
		}
	}
	seen := make(map[provider.InstanceID]bool, len(list))
	for _, in := range list {
		seen[in.ID] = true
		m := byInstance[in.ID]
		switch {
		case m == nil && d.gangs[in.Token] != nil && d.gangs[in.Token].calling: // Create has not returned yet
		case m == nil:
			soon = d.strayed(in, began) || soon
		case in.State == provider.InstanceEnded:
			d.gone(m, cmp.Or(in.Reason, m.Why, endedUnsaid))
		default:
			if m.Addr == "" {
				m.Addr = in.Addr
			}
			if in.State == provider.InstanceEnding && m.State != machineEnding && m.drain == "" {
				m.drain = cmp.Or(in.Reason, "the cloud ends it")
			}
		}
	}
	for _, m := range byInstance {
		if !seen[m.Instance] && began.Sub(m.Created) > d.t.ListLag && m.State != machineEnded && !d.speaks(m, began) {
			d.gone(m, cmp.Or(m.Why, endedUnseen))
		}
		soon = soon || m.State == machineEnding || m.State == machineBooting
	}
	for id, s := range d.strays {
		if !seen[id] {
			d.strayEnded(id, s)
		}
	}
	return soon
}

// speaks reports whether a machine's agent has spoken so lately that it lives, whatever a listing of that time lacks: a listing may lag, and its job would be
// started elsewhere beside it.
func (d *Driver) speaks(m *machine, at time.Time) bool {
	return m.State == machineUp && at.Sub(m.polled) < 2*d.t.PollWait+d.t.Margin
}

// strayed takes in a machine that is ours by its tag, and in no gang that lives: it is ended after a grace, and goes into the books.
func (d *Driver) strayed(in provider.Instance, began time.Time) (soon bool) {
	s := d.strays[in.ID]
	if in.State == provider.InstanceEnded {
		if s != nil {
			d.strayEnded(in.ID, s)
		}
		return false // see bookEnded
	}
	now := d.now()
	if s == nil {
		s = d.newStray(in, began)
		d.strays[in.ID] = s
		d.log.Warn("a machine of ours that no gang in the books has", "instance", in.ID, "gang", in.Token)
	}
	if now.Sub(s.since) >= d.t.Stray && s.machine.State == machineUp {
		s.machine.State = machineEnding
		d.put(s)
		poke(d.ender)
	}
	return true
}

func (d *Driver) newStray(in provider.Instance, began time.Time) *stray {
	s := &stray{since: d.now(), id: MachineID(string(d.cfg.Site) + ":" + string(in.ID))}
	s.machine = machineRecord{Gang: in.Token, Name: in.Name, Instance: in.ID, Offering: in.Offering, State: machineUp, Created: in.Launched.UTC(), Addr: in.Addr,
		Why: "no gang in the books has it"}
	if in.Launched.IsZero() {
		s.machine.Created = began
	}
	for _, p := range d.pools {
		for _, l := range p.lanes {
			if l.offering.ID == in.Offering {
				s.machine.Pool, s.machine.Price, s.machine.Market = p.Name, accounting.MoneyOf(float64(l.offering.Price)), l.offering.Market
			}
		}
	}
	return s
}

// bookEnded enters machines in the books that are seen for the first time when they have ended already. Most of those that a listing shows as ended are booked:
// the store is asked only about those of which this daemon does not know it.
func (d *Driver) bookEnded(ctx context.Context, list []provider.Instance) {
	var unknown []provider.Instance
	oldest := d.now()
	d.mu.Lock()
	settled := map[provider.InstanceID]bool{}
	for _, in := range list {
		switch {
		case in.State != provider.InstanceEnded:
		case d.settled[in.ID]:
			settled[in.ID] = true
		case d.strays[in.ID] == nil && (d.gangs[in.Token] == nil || !d.gangs[in.Token].calling):
			unknown = append(unknown, in)
			if !in.Launched.IsZero() && in.Launched.Before(oldest) {
				oldest = in.Launched
			}
		}
	}
	d.settled = settled
	d.mu.Unlock()
	if len(unknown) == 0 {
		return
	}
	records, err := d.cfg.Store.PoolHistory(ctx, d.cfg.Site, federation.PoolMachine, oldest, 1<<20)
	if err != nil {
		d.log.Error("look for ended machines in the books", "err", err)
		return
	}
	booked := map[provider.InstanceID]bool{}
	for _, r := range records {
		var m machineRecord
		if json.Unmarshal(r.Data, &m) == nil {
			booked[m.Instance] = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, in := range unknown {
		d.settled[in.ID] = true
		if !booked[in.ID] {
			d.strayEnded(in.ID, d.newStray(in, d.now()))
		}
	}
}

func (d *Driver) strayEnded(id provider.InstanceID, s *stray) {
	delete(d.strays, id)
	d.settled[id] = true
	r := &s.machine
	r.State, r.Ended = machineEnded, d.now()
	r.Cost = r.Price.For(r.Ended.Sub(r.Created))
	r.IdleCost = r.Cost
	d.put(s)
	if p := d.pool(r.Pool); p != nil {
		p.spent.roll(r.Ended)
		p.spent.add(r)
	}
}

// end asks the cloud to end the machines that are to be ended, many with one call, and again while the listing shows them.
func (d *Driver) end(ctx context.Context) {
	const atOnce, again = 200, time.Minute
	if !d.rested(ctx) {
		return
	}
	for wait := d.t.ListSoon; ; {
		d.mu.Lock()
		now := d.now()
		var ids []provider.InstanceID
		var machines []*machine
		for _, m := range d.machines {
			if m.State == machineEnding && !m.deleteAt.IsZero() && !now.Before(m.deleteAt) && len(ids) < atOnce {
				ids, machines = append(ids, m.Instance), append(machines, m)
			}
		}
		for id, s := range d.strays {
			if s.machine.State == machineEnding && now.Sub(s.asked) >= again && len(ids) < atOnce {
				ids = append(ids, id)
				s.asked = now
			}
		}
		d.mu.Unlock()
		if len(ids) > 0 {
			call, cancel := context.WithTimeout(ctx, callTime)
			err := d.cfg.Provider.Delete(call, ids)
			cancel()
			next := again
			if err != nil {
				d.log.Error("end machines", "count", len(ids), "err", err)
				wait = min(2*max(wait, time.Second, provider.AsError(err).After), max(d.t.List, provider.AsError(err).After))
				next = wait
			} else {
				wait = d.t.ListSoon
			}
			d.mu.Lock()
			for _, m := range machines {
				m.deleteAt = d.now().Add(next)
			}
			d.mu.Unlock()
			poke(d.look)
			if err == nil && len(ids) < atOnce {
				continue
			}
			if !sleep(ctx, wait) {
				return
			}
			continue
		}
		t := time.NewTimer(d.t.ListSoon)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-d.ender:
		}
	}
}
