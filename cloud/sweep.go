package cloud

import (
	"cmp"
	"context"
	"time"

	"fsub/cloud/provider"
)

// sweeper compares the machines that the cloud shows with the records, and ends those that are not to be.
type sweeper struct {
	*base
	starts    *starts
	orphans   *orphans
	fleet     *fleet
	sweeps    *sweeps
	scheduler *scheduler
}

// sweeps ask the sweeper to call the cloud soon.
type sweeps struct {
	list chan struct{} // its machines should be listed
	end  chan struct{} // there are machines to be deleted
}

func newSweeps() *sweeps { return &sweeps{list: make(chan struct{}, 1), end: make(chan struct{}, 1)} }

func (s *sweeps) lookSoon() { poke(s.list) }
func (s *sweeps) endSoon()  { poke(s.end) }

// list lists the machines once in a while, and sooner while some start or end. However many machines there are, it is one call.
func (sw *sweeper) list(ctx context.Context) {
	if !sw.starts.rested(ctx) {
		return
	}
	logged := attempt{what: askList}
	for wait := sw.t.ListSoon; ; {
		began := sw.now()
		call, cancel := context.WithTimeout(ctx, callTime)
		list, err := sw.cfg.Provider.List(call)
		cancel()
		if ctx.Err() != nil {
			return
		}
		sw.metrics.listed(err)
		logged.note(sw.log, err)
		sw.noteAccess(err)
		soon := false
		if err != nil {
			wait = min(2*max(wait, provider.AsError(err).After), max(sw.t.List, provider.AsError(err).After))
		} else {
			wait = sw.t.ListSoon
			sw.mu.Lock()
			soon = sw.listedNow(began, list)
			sw.scheduler.schedule()
			sw.mu.Unlock()
			sw.orphans.recordEnded(ctx, list, sw.fleet.calling)
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
		case <-sw.sweeps.list:
		}
	}
}

// noteAccess takes in whether the cloud accepts the credentials.
func (sw *sweeper) noteAccess(err error) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	was := sw.access.err() != nil
	if sw.access.note(askList, err) {
		poke(sw.access.again)
	}
	if is := sw.access.err() != nil; is != was {
		sw.news.nodes()
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
		case m == nil && sw.fleet.calling(in.Token): // Create has not returned yet
		case m == nil:
			soon = sw.orphans.listed(in, began) || soon
		case in.State == provider.InstanceEnded:
			sw.ended(m, in)
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
	for id, s := range sw.orphans.seen {
		if !seen[id] {
			sw.orphans.ended(id, s, time.Time{})
		}
	}
	return soon
}

// ended takes in that the cloud shows a machine as ended. Of one that has not come up, and of which the cloud does not say why, its console may.
func (sw *sweeper) ended(m *machine, in provider.Instance) {
	why := cmp.Or(in.Reason, m.Why, endedUnsaid)
	gone := func() { sw.fleet.goneAt(m, why, in.Ended) }
	if m.refused = in.Refused; m.refused != nil || m.State != machineBooting || m.taken(why) {
		gone()
		return
	}
	sw.fleet.lastWords(m, gone)
}

// speaks reports whether a machine's agent has spoken so lately that it lives, whatever a listing of that time lacks: a listing may lag, and its job would be
// started elsewhere beside it.
func (sw *sweeper) speaks(m *machine, at time.Time) bool {
	return m.State == machineUp && at.Sub(m.polled) < 2*sw.t.PollWait+sw.t.Margin
}

// end asks the cloud to end the machines that are to be ended, many with one call, and again while the listing shows them.
func (sw *sweeper) end(ctx context.Context) {
	const atOnce, again = 200, time.Minute
	if !sw.starts.rested(ctx) {
		return
	}
	logged := attempt{what: askDelete}
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
		for id, s := range sw.orphans.seen {
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
			logged.note(sw.log, err)
			if err != nil {
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
			sw.sweeps.lookSoon()
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
		case <-sw.sweeps.end:
		}
	}
}
