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

// stray is a machine with our tag that no gang in the records has.
type stray struct {
	since   time.Time
	machine machineRecord
	id      MachineID
	asked   time.Time // when it was last asked to be ended
}

func (s *stray) Record() (federation.PoolRecord, any) {
	return federation.PoolRecord{Kind: federation.PoolMachine, ID: string(s.id), Closed: s.machine.Ended}, &s.machine
}

// follow asks again and again what can be rented.
func (of *offers) follow(ctx context.Context) {
	if !of.starts.rested(ctx) {
		return
	}
	answered := sync.OnceFunc(func() { close(of.asked) })
	for wait := time.Second; ; {
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := of.cfg.Provider.Offerings(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		next := of.t.Offers
		of.mu.Lock()
		if err != nil {
			of.log.Error("ask what can be rented", "err", err)
			of.err = err
			next = max(wait, provider.AsError(err).After)
			wait = min(2*wait, of.t.Offers)
		} else {
			wait, of.err, of.known = time.Second, nil, true
			for _, p := range of.fleet.pools {
				p.offer(list)
				of.queue.capacity(p)
			}
			of.queue.schedule()
		}
		of.news.nodes()
		of.mu.Unlock()
		answered()
		if !sleep(ctx, next) {
			return
		}
	}
}

// list lists the machines once in a while, and sooner while some start or end. However many machines there are, it is one call.
func (sw *sweeper) list(ctx context.Context) {
	if !sw.starts.rested(ctx) {
		return
	}
	for wait := sw.t.ListSoon; ; {
		began := sw.now()
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := sw.cfg.Provider.List(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		sw.metrics.listed(err)
		soon := false
		if err != nil {
			sw.log.Error("list machines", "err", err)
			wait = min(2*max(wait, provider.AsError(err).After), max(sw.t.List, provider.AsError(err).After))
		} else {
			wait = sw.t.ListSoon
			sw.mu.Lock()
			soon = sw.listedNow(began, list)
			sw.queue.schedule()
			sw.mu.Unlock()
			sw.strays.recordEnded(ctx, list)
			sw.lookAtTopology(ctx)
		}
		if !sleep(ctx, wait) {
			return
		}
		if err != nil || soon {
			continue
		}
		t := time.NewTimer(max(sw.t.List-wait, 0))
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-sw.look:
		}
	}
}

// listedNow compares a listing with the records; it reports whether another one is of use soon.
func (sw *sweeper) listedNow(began time.Time, list []provider.Instance) (soon bool) {
	byInstance := make(map[provider.InstanceID]*machine, len(sw.fleet.machines))
	for _, m := range sw.fleet.machines {
		if m.Instance != "" {
			byInstance[m.Instance] = m
		}
	}
	seen := make(map[provider.InstanceID]bool, len(list))
	for _, in := range list {
		seen[in.ID] = true
		m := byInstance[in.ID]
		switch {
		case m == nil && sw.fleet.gangs[in.Token] != nil && sw.fleet.gangs[in.Token].calling: // Create has not returned yet
		case m == nil:
			soon = sw.strays.strayed(in, began) || soon
		case in.State == provider.InstanceEnded:
			sw.fleet.gone(m, cmp.Or(in.Reason, m.Why, endedUnsaid))
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
		if !seen[m.Instance] && began.Sub(m.Created) > sw.t.ListLag && m.State != machineEnded && !sw.speaks(m, began) {
			sw.fleet.gone(m, cmp.Or(m.Why, endedUnseen))
		}
		soon = soon || m.State == machineEnding || m.State == machineBooting
	}
	for id, s := range sw.strays.seen {
		if !seen[id] {
			sw.strays.ended(id, s)
		}
	}
	return soon
}

// speaks reports whether a machine's agent has spoken so lately that it lives, whatever a listing of that time lacks: a listing may lag, and its job would be
// started elsewhere beside it.
func (sw *sweeper) speaks(m *machine, at time.Time) bool {
	return m.State == machineUp && at.Sub(m.polled) < 2*sw.t.PollWait+sw.t.Margin
}

// strayed takes in a machine that is ours by its tag, and in no gang that lives: it is ended after a grace, and is recorded.
func (st *strays) strayed(in provider.Instance, began time.Time) (soon bool) {
	s := st.seen[in.ID]
	if in.State == provider.InstanceEnded {
		if s != nil {
			st.ended(in.ID, s)
		}
		return false // see recordEnded
	}
	now := st.now()
	if s == nil {
		s = st.make(in, began)
		st.seen[in.ID] = s
		st.log.Warn("a machine of ours is in no recorded gang", "instance", in.ID, "gang", in.Token)
	}
	if now.Sub(s.since) >= st.t.Stray && s.machine.State == machineUp {
		s.machine.State = machineEnding
		st.put(s)
		poke(st.sweep.ender)
	}
	return true
}

func (st *strays) make(in provider.Instance, began time.Time) *stray {
	s := &stray{since: st.now(), id: MachineID(string(st.cfg.Site) + ":" + string(in.ID))}
	s.machine = machineRecord{Gang: in.Token, Name: in.Name, Instance: in.ID, Offering: in.Offering, State: machineUp, Created: in.Launched.UTC(), Addr: in.Addr,
		Why: "it is in no recorded gang"}
	if in.Launched.IsZero() {
		s.machine.Created = began
	}
	for _, p := range st.fleet.pools {
		for _, ng := range p.groups {
			if ng.offering.ID == in.Offering {
				s.machine.Pool, s.machine.Price, s.machine.Market = p.Name, accounting.MoneyOf(float64(ng.offering.Price)), ng.offering.Market
			}
		}
	}
	return s
}

// recordEnded enters machines in the records that are seen for the first time when they have ended already. Most of those that a listing shows as ended are recorded:
// the store is asked only about those of which this daemon does not know it.
func (st *strays) recordEnded(ctx context.Context, list []provider.Instance) {
	var unknown []provider.Instance
	oldest := st.now()
	st.mu.Lock()
	settled := map[provider.InstanceID]bool{}
	for _, in := range list {
		switch {
		case in.State != provider.InstanceEnded:
		case st.settled[in.ID]:
			settled[in.ID] = true
		case st.seen[in.ID] == nil && (st.fleet.gangs[in.Token] == nil || !st.fleet.gangs[in.Token].calling):
			unknown = append(unknown, in)
			if !in.Launched.IsZero() && in.Launched.Before(oldest) {
				oldest = in.Launched
			}
		}
	}
	st.settled = settled
	st.mu.Unlock()
	if len(unknown) == 0 {
		return
	}
	records, err := st.cfg.Store.PoolHistory(ctx, st.cfg.Site, federation.PoolMachine, oldest, 1<<20)
	if err != nil {
		st.log.Error("look for ended machines in the records", "err", err)
		return
	}
	recorded := map[provider.InstanceID]bool{}
	for _, r := range records {
		var m machineRecord
		if json.Unmarshal(r.Data, &m) == nil {
			recorded[m.Instance] = true
		}
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, in := range unknown {
		st.settled[in.ID] = true
		if !recorded[in.ID] {
			st.ended(in.ID, st.make(in, st.now()))
		}
	}
}

func (st *strays) ended(id provider.InstanceID, s *stray) {
	delete(st.seen, id)
	st.settled[id] = true
	r := &s.machine
	r.State, r.Ended = machineEnded, st.now()
	r.Cost = r.Price.For(r.Ended.Sub(r.Created))
	r.IdleCost = r.Cost
	st.put(s)
	if p := st.fleet.pool(r.Pool); p != nil {
		p.spent.roll(r.Ended)
		p.spent.add(r)
	}
}

// end asks the cloud to end the machines that are to be ended, many with one call, and again while the listing shows them.
func (sw *sweeper) end(ctx context.Context) {
	const atOnce, again = 200, time.Minute
	if !sw.starts.rested(ctx) {
		return
	}
	for wait := sw.t.ListSoon; ; {
		sw.mu.Lock()
		now := sw.now()
		var ids []provider.InstanceID
		var machines []*machine
		for _, m := range sw.fleet.machines {
			if m.State == machineEnding && !m.deleteAt.IsZero() && !now.Before(m.deleteAt) && len(ids) < atOnce {
				ids, machines = append(ids, m.Instance), append(machines, m)
			}
		}
		for id, s := range sw.strays.seen {
			if s.machine.State == machineEnding && now.Sub(s.asked) >= again && len(ids) < atOnce {
				ids = append(ids, id)
				s.asked = now
			}
		}
		sw.mu.Unlock()
		if len(ids) > 0 {
			call, cancel := context.WithTimeout(ctx, callTime)
			err := sw.cfg.Provider.Delete(call, ids)
			cancel()
			next := again
			if err != nil {
				sw.log.Error("end machines", "count", len(ids), "err", err)
				wait = min(2*max(wait, time.Second, provider.AsError(err).After), max(sw.t.List, provider.AsError(err).After))
				next = wait
			} else {
				wait = sw.t.ListSoon
			}
			sw.mu.Lock()
			for _, m := range machines {
				m.deleteAt = sw.now().Add(next)
			}
			sw.mu.Unlock()
			poke(sw.look)
			if err == nil && len(ids) < atOnce {
				continue
			}
			if !sleep(ctx, wait) {
				return
			}
			continue
		}
		t := time.NewTimer(sw.t.ListSoon)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-sw.ender:
		}
	}
}

// strays are machines with our tag that no gang in the records has.
type strays struct {
	*base
	sweep   *sweeper
	fleet   *fleet
	seen    map[provider.InstanceID]*stray
	settled map[provider.InstanceID]bool // that have ended and are in the records, for as long as they are listed
}

func newStrays(b *base) *strays {
	return &strays{base: b, seen: map[provider.InstanceID]*stray{}, settled: map[provider.InstanceID]bool{}}
}

// offers is what can be rented, as it was seen last.
type offers struct {
	*base
	starts *starts
	fleet  *fleet
	queue  *queue
	asked  chan struct{} // closed when the cloud was asked once
	err    error         // of the last look
	known  bool          // one look was good
}

func newOffers(b *base) *offers {
	return &offers{base: b, asked: make(chan struct{}), err: errNotLoaded}
}

// sweeper compares the machines that the cloud shows with the records, and ends those that are not to be.
type sweeper struct {
	*base
	starts *starts
	queue  *queue
	strays *strays
	fleet  *fleet
	look   chan struct{} // the cloud should be listed soon
	ender  chan struct{} // there are machines to be deleted
}

func newSweeper(b *base) *sweeper {
	return &sweeper{base: b, look: make(chan struct{}, 1), ender: make(chan struct{}, 1)}
}
