package cloud

import (
	"context"
	"encoding/json"
	"time"

	"fsub/accounting"
	"fsub/cloud/provider"
	"fsub/cloud/records"
)

// orphan is a machine with our tag that no gang in the records has.
type orphan struct {
	since   time.Time
	machine machineRecord
	id      MachineID
	asked   time.Time // when it was last asked to be ended
}

func (s *orphan) Record() (records.PoolRecord, any) {
	return records.PoolRecord{Kind: records.PoolMachine, ID: string(s.id), Closed: s.machine.Ended}, &s.machine
}

// orphans are machines with our tag that no gang in the records has.
type orphans struct {
	*base
	sweeps  *sweeps
	pools   *pools
	seen    map[provider.InstanceID]*orphan
	settled map[provider.InstanceID]bool // that have ended and are in the records, for as long as they are listed
}

func newOrphans(b *base, p *pools, sw *sweeps) *orphans {
	return &orphans{base: b, pools: p, sweeps: sw, seen: map[provider.InstanceID]*orphan{}, settled: map[provider.InstanceID]bool{}}
}

// listed takes in a machine that is ours by its tag, and in no gang that lives: it is ended after a grace, and is recorded.
func (st *orphans) listed(in provider.Instance, began time.Time) (soon bool) {
	s := st.seen[in.ID]
	if in.State == provider.InstanceEnded {
		if s != nil {
			st.ended(in.ID, s, in.Ended)
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
		st.sweeps.endSoon()
	}
	return true
}

func (st *orphans) make(in provider.Instance, began time.Time) *orphan {
	s := &orphan{since: st.now(), id: MachineID(string(st.cfg.Site) + ":" + string(in.ID))}
	s.machine = machineRecord{Gang: in.Token, Name: in.Name, Instance: in.ID, Offering: in.Offering, State: machineUp, Created: in.Launched.UTC(), Addr: in.Addr,
		Why: "it is in no recorded gang"}
	if in.Launched.IsZero() {
		s.machine.Created = began
	}
	st.price(&s.machine)
	return s
}

// price finds the pool that a machine would be of, and what it costs there, once it is known what can be rented.
func (st *orphans) price(r *machineRecord) {
	for _, p := range st.pools.all {
		for _, ng := range p.groups {
			if ng.offering.ID == r.Offering {
				r.Pool, r.Price, r.Market, r.Least = p.Name, accounting.MoneyOf(float64(ng.offering.Price)), ng.offering.Market, ng.offering.Least
			}
		}
	}
}

// recordEnded enters machines in the records that are seen for the first time when they have ended already. Most of those that a listing shows as ended are recorded:
// the store is asked only about those of which this daemon does not know it. calling: the call that asks for a gang has not returned.
func (st *orphans) recordEnded(ctx context.Context, list []provider.Instance, calling func(token string) bool) {
	var unknown []provider.Instance
	oldest := st.now()
	st.mu.Lock()
	if !st.pools.known { // nor what they cost: the next listing shows them again
		st.mu.Unlock()
		return
	}
	settled := map[provider.InstanceID]bool{}
	for _, in := range list {
		switch {
		case in.State != provider.InstanceEnded:
		case st.settled[in.ID]:
			settled[in.ID] = true
		case st.seen[in.ID] == nil && !calling(in.Token):
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
	records, err := st.cfg.Store.PoolHistory(ctx, st.cfg.Site, records.PoolMachine, oldest, 1<<20)
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
			st.ended(in.ID, st.make(in, st.now()), in.Ended)
		}
	}
}

// ended takes in that a machine has ended, at the time that the cloud tells; zero: it does not.
func (st *orphans) ended(id provider.InstanceID, s *orphan, at time.Time) {
	delete(st.seen, id)
	st.settled[id] = true
	r := &s.machine
	if r.Pool == "" {
		st.price(r)
	}
	r.settle(at, st.now())
	r.IdleCost, r.Stray = r.Cost, true
	st.put(s)
	if p := st.pools.named(r.Pool); p != nil {
		p.spent.roll(r.Ended)
		p.spent.add(r)
	}
}
