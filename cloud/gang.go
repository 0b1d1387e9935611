package cloud

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// newGang is a gang that is thought of: its machines can be given to jobs, and nothing is written or asked for yet.
func (f *fleet) newGang(ng *nodeGroup, names []string, near bool) *gang {
	now := f.now()
	g := &gang{pool: ng.pool, group: ng}
	g.gangRecord = gangRecord{Number: f.numbers.free[0], Pool: ng.pool.Name, Offering: ng.offering, Names: names, Near: near, Asked: now, State: gangAsked,
		Expires: now.Add(ng.offering.Queue + f.t.bootWithin(&ng.offering)).Truncate(time.Second)}
	f.numbers.free = f.numbers.free[1:]
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	g.Token = fmt.Sprintf("%.30s-%d-%s", f.cfg.Site, g.Number, hex.EncodeToString(random[:]))
	for i := range g.Names {
		m := newMachine(g, i)
		m.changed, m.version = make(chan struct{}), uint64(now.UnixMicro())
		g.machines = append(g.machines, m)
		f.add(m)
	}
	f.gangs[g.Token] = g
	return g
}

// So many numbers of gangs are drawn at a time.
const (
	drawLeast = 16
	drawMost  = 256
)

// draw gets numbers for gangs to come, so that a gang need not wait for one.
func (ns *numbers) draw() {
	if ns.drawing {
		return
	}
	ns.drawing = true
	count := min(drawLeast<<ns.draws, drawMost) // the more, the sooner the last were used up
	ns.draws++
	ns.spawn(func(ctx context.Context) {
		for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
			numbers, err := ns.drawMany(ctx, count)
			ns.mu.Lock()
			ns.free = append(ns.free, numbers...)
			if err == nil {
				ns.drawing = false
				for _, p := range ns.fleet.pools {
					ns.queue.capacity(p)
				}
				ns.queue.schedule()
				ns.mu.Unlock()
				return
			}
			ns.mu.Unlock()
			ns.log.Error("draw numbers for machines", "err", err)
			if !sleep(ctx, wait) {
				return
			}
		}
	})
}

// drawMany draws several at the same time, so that they share a commit of the store.
func (ns *numbers) drawMany(ctx context.Context, count int) (numbers []int64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range count {
		wg.Go(func() {
			n, failed := ns.cfg.Store.NextPoolNumber(ctx, ns.cfg.Site, federation.PoolGang)
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = failed
				return
			}
			numbers = append(numbers, n)
		})
	}
	wg.Wait()
	slices.Sort(numbers)
	return numbers, err
}

// request is what the cloud is asked for a gang: always the same for the same gang.
func (rt *renter) request(g *gang) (provider.Request, error) {
	boot := rt.cfg.Boot
	boot.Lease, boot.Expires = rt.t.Lease, g.Expires
	if rt.cfg.Door != nil {
		var err error
		if boot, err = rt.cfg.Door.Boot(rt.cfg.Site, g.Token, boot); err != nil {
			return provider.Request{}, err
		}
	}
	return provider.Request{Token: g.Token, Site: rt.cfg.Site, Offering: g.Offering, Count: len(g.Names), Names: g.Names, Near: g.Near, Boot: boot}, nil
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
		rt.queue.schedule()
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

// The waits between two questions after a request that the cloud has queued, and before one that could not be withdrawn is tried again.
const (
	pendingAgain  = 15 * time.Second
	withdrawAgain = 10 * time.Second
)

// pending is the cloud's word that it has queued a request; nil: err is none.
func pending(err error) *provider.Error {
	if e, ok := errors.AsType[*provider.Error](err); ok && e.Kind == provider.KindPending {
		return e
	}
	return nil
}

// queued takes in that the cloud has queued a gang's request. It returns after how long to ask again; 0: it is to be withdrawn, since it has waited for too long or
// nobody waits for its machines any more.
func (rt *renter) queued(g *gang, e *provider.Error) (again time.Duration) {
	rt.cool.answered(g)
	if left := g.Expires.Add(-rt.t.bootWithin(&g.Offering)); !rt.now().Before(left) || !g.Warm && !slices.ContainsFunc(g.machines, func(m *machine) bool { return len(m.runs) > 0 }) {
		return 0
	}
	g.tellJobs(federation.ReasonCloudQueue, e.Text)
	return max(e.After, pendingAgain)
}

// withdraw takes a gang's request back, and gives the gang up. If its machines were made at the last moment, the next listing finds them. false: it is to be tried again.
func (rt *renter) withdraw(ctx context.Context, g *gang) bool {
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if err := rt.cfg.Provider.Withdraw(call, g.Token); err != nil {
		rt.log.Warn("withdraw a request for machines", "pool", g.Pool, "gang", g.Token, "err", err)
		return false
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	g.calling = false
	poke(rt.sweep.look)
	rt.gangFailed(g, "the cloud had not answered its request in time, or nobody needed it any more", false)
	rt.queue.schedule()
	return true
}

// tooLate gives up a gang that would have to wait so long that its machines could not say hello in time any more. If there are any, the next listing finds them.
func (rt *renter) tooLate(g *gang, wait time.Duration) bool {
	if rt.now().Add(wait).Before(g.Expires) {
		return false
	}
	g.calling = false
	poke(rt.sweep.look)
	rt.gangFailed(g, "it was not answered in time, and is not to be asked for now", false)
	rt.queue.schedule()
	return true
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
		poke(rt.sweep.look)
	}
	rt.gangFailed(g, e.Error(), e.Kind == provider.KindConflict)
	return 0
}

// tellJobs says why the jobs that wait for a gang do.
func (g *gang) tellJobs(reason federation.Reason, detail string) {
	for _, m := range g.machines {
		for _, r := range m.runs {
			if j := r.job; j.State == federation.Pending && j.Reason != reason {
				j.Reason, j.Detail = reason, detail
				g.pool.fleet.put(j)
			}
		}
	}
}

// made writes down the machines of a gang.
func (rt *renter) made(g *gang, list []provider.Instance) {
	now := rt.now()
	byName, ended := map[string]provider.Instance{}, map[*machine]string{}
	for i, in := range list {
		byName[cmp.Or(in.Name, g.Names[i])] = in
	}
	g.State = gangMade
	g.tellJobs(federation.ReasonBoot, "")
	rt.put(g)
	for i, m := range g.machines {
		in, ok := byName[m.Name]
		if !ok {
			in = list[i]
		}
		m.Instance, m.Addr, m.Devices, m.Created, m.State = in.ID, in.Addr, in.GPUs, now, machineBooting
		if !in.Launched.IsZero() && in.Launched.After(g.Asked) && in.Launched.Before(now) {
			m.Created = in.Launched.UTC()
		}
		m.idle = now
		if len(m.runs) > 0 {
			m.BusyFrom = now
		}
		rt.put(m)
		if in.State == provider.InstanceEnded || in.State == provider.InstanceEnding {
			ended[m] = cmp.Or(in.Reason, "it ended before it had started")
		}
	}
	for m, why := range ended {
		rt.fleet.gone(m, why)
	}
	rt.news.nodes()
	poke(rt.sweep.look) // one that ends at once is to be found soon
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
	rt.queue.capacity(g.pool)
	rt.news.nodes()
}

// closeGang forgets a gang whose machines have all ended.
func (f *fleet) closeGang(g *gang) {
	if g.State == gangAsked || slices.ContainsFunc(g.machines, func(m *machine) bool { return m.State != machineEnded }) {
		return
	}
	g.State = gangOver
	f.put(g)
	delete(f.gangs, g.Token)
}

// unbind takes a job's machines away before it has started on any: it waits again, unless its machines failed to boot too often.
func (rs *runs) unbind(r *run, boot bool, why string) {
	j, now := r.job, rs.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], now)
		rs.queue.capacity(m.pool)
	}
	j.run, j.Run = nil, nil
	if boot {
		if j.Boots++; j.Boots >= rs.t.Boots {
			rs.finish(j, outcome{State: federation.BootFail, Reason: federation.ReasonBoot, Detail: why, At: now})
			return
		}
	}
	j.State, j.Reason, j.Start = federation.Pending, federation.ReasonResources, time.Time{}
	rs.put(j)
	rs.queue.enqueue(j)
}

// renter asks the cloud for machines.
type renter struct {
	*base
	starts  *starts
	cool    *cooldowns
	queue   *queue
	sweep   *sweeper
	fleet   *fleet
	runs    *runs
	numbers *numbers
}

// numbers are drawn for gangs to come.
type numbers struct {
	*base
	fleet   *fleet
	queue   *queue
	free    []int64
	drawing bool
	draws   int // since the last look at the clock
}
