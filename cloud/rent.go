package cloud

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"fsub/cloud/provider"
	"fsub/federation/reasons"
)

// renter asks the cloud for machines.
type renter struct {
	*base
	starts    *starts
	cool      *cooldowns
	sweeps    *sweeps
	fleet     *fleet
	runs      *runs
	numbers   *numbers
	requests  *requests
	scheduler *scheduler
}

// requests are the gangs that the cloud is to be asked for, now that their records are durable.
type requests struct {
	gangs []*gang
	added chan struct{}
}

func newRequests() *requests { return &requests{added: make(chan struct{}, 1)} }

func (r *requests) add(gangs ...*gang) {
	r.gangs = append(r.gangs, gangs...)
	poke(r.added)
}

// serve asks for each gang that is requested.
func (rt *renter) serve(ctx context.Context) {
	for {
		rt.locked(func() {
			for _, g := range rt.requests.gangs {
				rt.spawn(func(ctx context.Context) { rt.create(ctx, g, false) })
			}
			rt.requests.gangs = nil
		})
		select {
		case <-ctx.Done():
			return
		case <-rt.requests.added:
		}
	}
}

// callTime is how long a call of the cloud may take.
const callTime = 3 * time.Minute

// createTries is how often a gang is asked for when nothing proves that it was refused.
const createTries = 4

// createAtOnce bounds the calls for gangs of one offering that are made at a time: what the first hear keeps the others from being made.
const createAtOnce = 8

// create asks the cloud for a gang whose record is durable. Calls of which nothing is known are made again, under the same token; asked: the first of them may
// have been made by another daemon.
func (rt *renter) create(ctx context.Context, g *gang, asked bool) {
	if !rt.starts.rested(ctx) {
		return
	}
	for try := 1; ; try++ {
		select {
		case g.group.calls <- struct{}{}:
		case <-ctx.Done():
			return
		}
		rt.mu.Lock()
		v, wait := rt.cool.mayCall(g, asked || try > 1)
		late := wait > 0 && rt.tooLate(g, wait)
		rt.mu.Unlock()
		if wait > 0 {
			<-g.group.calls
			if late || !sleep(ctx, wait) {
				return
			}
			try--
			continue
		}
		var made []provider.Instance
		err := error(v)
		if v == nil {
			made, err = rt.callCreate(ctx, g)
		}
		if ctx.Err() != nil {
			return // the next start asks again
		}
		rt.mu.Lock()
		again, done := time.Duration(0), false
		if queued := pending(err); queued != nil {
			again, try = rt.queued(g, queued), 1
		} else {
			again = rt.created(g, made, err, v == nil, try)
			done = again == 0
		}
		rt.scheduler.schedule()
		rt.mu.Unlock()
		<-g.group.calls
		if !done && again == 0 {
			done = rt.withdraw(ctx, g)
			again = withdrawAgain
		}
		if done || !sleep(ctx, again) {
			return
		}
	}
}

// tooLate gives up a gang that would have to wait so long that its machines could not say hello in time any more. If there are any, the next listing finds them.
func (rt *renter) tooLate(g *gang, wait time.Duration) bool {
	if rt.now().Add(wait).Before(g.Expires) {
		return false
	}
	g.calling = false
	rt.sweeps.lookSoon()
	rt.gangFailed(g, "it was not answered in time, and is not to be asked for now", false)
	rt.scheduler.schedule()
	return true
}

// request is what the cloud is asked for a gang: always the same for the same gang.
func (rt *renter) request(g *gang) (provider.Request, error) {
	boot := rt.cfg.Boot
	boot.Lease, boot.Expires = rt.t.Lease, g.Expires
	if len(g.Servers) > 0 {
		boot.URL = strings.Join(g.Servers, ",")
	}
	if rt.cfg.AgentServer != nil {
		var err error
		if boot, err = rt.cfg.AgentServer.Boot(rt.cfg.Site, g.Token, boot); err != nil {
			return provider.Request{}, err
		}
	}
	return provider.Request{Token: g.Token, Site: rt.cfg.Site, Offering: g.Offering, Count: len(g.Names), Names: g.Names, Near: g.Near, Run: g.Run, Boot: boot, Resume: g.Resume}, nil
}

// callCreate makes the call. Half a gang is no answer.
func (rt *renter) callCreate(ctx context.Context, g *gang) ([]provider.Instance, error) {
	r, err := rt.request(g)
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "the boot data cannot be made: " + err.Error(), Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	made, err := rt.cfg.Provider.Create(ctx, r)
	if err == nil && len(made) != r.Count {
		err = &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeOffering, Text: fmt.Sprintf("%d machines where %d were asked for", len(made), r.Count)}
	}
	rt.metrics.create(err)
	return made, err
}

// created takes in what the cloud said. It returns after how long to ask again; 0: not.
func (rt *renter) created(g *gang, made []provider.Instance, err error, called bool, try int) (again time.Duration) {
	if err == nil {
		g.calling = false
		rt.cool.callDone(g, nil)
		rt.made(g, made)
		return 0
	}
	e := provider.AsError(err)
	if called {
		rt.log.Warn("machines were not created", "pool", g.Pool, "offering", g.Offering.ID, "count", len(g.Names), "try", try, "err", err)
		rt.cool.callDone(g, e)
	}
	proved := e.Kind != provider.KindUnavailable && e.Kind != provider.KindThrottled
	if called && !proved && try < createTries && rt.now().Before(g.Expires) {
		g.tellJobs(reasonOf(e.Kind), e.Text)
		return max(e.After, time.Duration(1<<try)*time.Second)
	}
	g.calling = false
	if !proved || e.Kind == provider.KindConflict { // they may exist all the same: the next listing tells
		rt.sweeps.lookSoon()
	}
	rt.gangFailed(g, e.Error(), e.Kind == provider.KindConflict)
	return 0
}

// made writes down the machines of a gang.
func (rt *renter) made(g *gang, list []provider.Instance) {
	now := rt.now()
	byName, ended := map[string]provider.Instance{}, map[*machine]string{}
	for i, in := range list {
		byName[cmp.Or(in.Name, g.Names[i])] = in
	}
	g.State = gangMade
	g.tellJobs(reasons.Boot, "")
	rt.put(g)
	for i, m := range g.machines {
		in, ok := byName[m.Name]
		if !ok {
			in = list[i]
		}
		m.Instance, m.Addr, m.Devices, m.Created, m.State = in.ID, in.Addr, in.GPUs, now, machineBooting
		if !in.Launched.IsZero() && in.Launched.Before(now) { // some clouds tell whole seconds: it was not before it was asked for
			if m.Created = in.Launched.UTC(); m.Created.Before(g.Asked) {
				m.Created = g.Asked
			}
		}
		m.idle = now
		if len(m.runs) > 0 {
			m.BusyFrom = now
		}
		rt.put(m)
		if in.State == provider.InstanceEnded || in.State == provider.InstanceEnding {
			m.refused = in.Refused
			ended[m] = cmp.Or(in.Reason, "it ended before it had started")
		}
	}
	for m, why := range ended {
		rt.fleet.gone(m, why)
	}
	rt.news.nodes()
	rt.sweeps.lookSoon() // one that ends at once is to be found soon
}

// gangFailed gives up a gang of which nothing is there. Its jobs are scheduled anew.
func (rt *renter) gangFailed(g *gang, why string, boot bool) {
	g.State, g.Why = gangOver, why
	runs := map[*run]bool{}
	for _, m := range g.machines {
		for _, r := range m.runs {
			runs[r] = true
		}
	}
	for r := range runs {
		rt.runs.unbind(r, boot, why)
	}
	for _, m := range g.machines {
		m.State, m.Why = machineEnded, why
		rt.fleet.remove(m)
		m.bump()
	}
	rt.put(g)
	rt.fleet.closeGang(g)
	g.pool.wake()
	rt.news.nodes()
}
