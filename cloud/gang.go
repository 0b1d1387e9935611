package cloud

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/cloud/provider"
	"fsub/federation"
)

// newGang is a gang that is thought of: its machines can be given to jobs, and nothing is written or asked for yet.
func (d *Driver) newGang(l *lane, names []string, near bool) *gang {
	now := d.now()
	g := &gang{pool: l.pool, lane: l}
	g.gangRecord = gangRecord{Number: d.numbers[0], Pool: l.pool.Name, Offering: l.offering, Names: names, Near: near, Asked: now, State: gangAsked,
		Expires: now.Add(max(d.t.Boot, 3*l.offering.Boot)).Truncate(time.Second)}
	d.numbers = d.numbers[1:]
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	g.Token = fmt.Sprintf("%.30s-%d-%s", d.cfg.Site, g.Number, hex.EncodeToString(random[:]))
	for i := range g.Names {
		m := newMachine(g, i)
		m.changed, m.version = make(chan struct{}), uint64(now.UnixMicro())
		g.machines = append(g.machines, m)
		d.add(m)
	}
	d.gangs[g.Token] = g
	return g
}

// So many numbers of gangs are drawn at a time.
const (
	drawLeast = 16
	drawMost  = 256
)

// draw gets numbers for gangs to come, so that a gang need not wait for one.
func (d *Driver) draw() {
	if d.drawing {
		return
	}
	d.drawing = true
	count := min(drawLeast<<d.draws, drawMost) // the more, the sooner the last were used up
	d.draws++
	d.spawn(func(ctx context.Context) {
		for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
			numbers, err := d.drawNumbers(ctx, count)
			d.mu.Lock()
			d.numbers = append(d.numbers, numbers...)
			if err == nil {
				d.drawing = false
				for _, p := range d.pools {
					d.capacity(p)
				}
				d.schedule()
				d.mu.Unlock()
				return
			}
			d.mu.Unlock()
			d.log.Error("draw numbers for machines", "err", err)
			if !sleep(ctx, wait) {
				return
			}
		}
	})
}

// drawNumbers draws several at the same time, so that they share a commit of the store.
func (d *Driver) drawNumbers(ctx context.Context, count int) (numbers []int64, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range count {
		wg.Go(func() {
			n, failed := d.cfg.Store.NextPoolNumber(ctx, d.cfg.Site, federation.PoolGang)
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
func (d *Driver) request(g *gang) (provider.Request, error) {
	boot := d.cfg.Boot
	boot.Lease, boot.Expires = d.t.Lease, g.Expires
	if d.cfg.Door != nil {
		var err error
		if boot, err = d.cfg.Door.Boot(d.cfg.Site, g.Token, boot); err != nil {
			return provider.Request{}, err
		}
	}
	return provider.Request{Token: g.Token, Site: d.cfg.Site, Offering: g.Offering, Count: len(g.Names), Names: g.Names, Near: g.Near, Boot: boot}, nil
}

// callTime is how long a call of the cloud may take.
const callTime = 3 * time.Minute

// createTries is how often a gang is asked for when nothing proves that it was refused.
const createTries = 4

// createAtOnce bounds the calls for gangs of one offering that are made at a time: what the first hear keeps the others from being made.
const createAtOnce = 8

// create asks the cloud for a gang whose record is durable. Calls of which nothing is known are made again, under the same token; asked: the first of them may
// have been made by another daemon.
func (d *Driver) create(ctx context.Context, g *gang, asked bool) {
	if !d.rested(ctx) {
		return
	}
	for try := 1; ; try++ {
		select {
		case g.lane.calls <- struct{}{}:
		case <-ctx.Done():
			return
		}
		d.mu.Lock()
		v, wait := d.mayCall(g, asked || try > 1)
		late := wait > 0 && d.tooLate(g, wait)
		d.mu.Unlock()
		if wait > 0 {
			<-g.lane.calls
			if late || !sleep(ctx, wait) {
				return
			}
			try--
			continue
		}
		var made []provider.Instance
		err := error(v)
		if v == nil {
			made, err = d.callCreate(ctx, g)
		}
		if ctx.Err() != nil {
			return // the next start asks again
		}
		d.mu.Lock()
		again := d.created(g, made, err, v == nil, try)
		d.schedule()
		d.mu.Unlock()
		<-g.lane.calls
		if again == 0 || !sleep(ctx, again) {
			return
		}
	}
}

// tooLate gives up a gang that would have to wait so long that its machines could not say hello in time any more. If there are any, the next listing finds them.
func (d *Driver) tooLate(g *gang, wait time.Duration) bool {
	if d.now().Add(wait).Before(g.Expires) {
		return false
	}
	g.calling = false
	poke(d.look)
	d.gangFailed(g, "it was not answered in time, and is not to be asked for now", false)
	d.schedule()
	return true
}

// callCreate makes the call. Half a gang is no answer.
func (d *Driver) callCreate(ctx context.Context, g *gang) ([]provider.Instance, error) {
	r, err := d.request(g)
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "the boot data cannot be made: " + err.Error(), Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	made, err := d.cfg.Provider.Create(ctx, r)
	if err == nil && len(made) != r.Count {
		err = &provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeOffering, Text: fmt.Sprintf("%d machines where %d were asked for", len(made), r.Count)}
	}
	d.metrics.create(err)
	return made, err
}

// created takes in what the cloud said. It returns after how long to ask again; 0: not.
func (d *Driver) created(g *gang, made []provider.Instance, err error, called bool, try int) (again time.Duration) {
	if err == nil {
		g.calling = false
		d.callDone(g, nil)
		d.made(g, made)
		return 0
	}
	e := provider.AsError(err)
	if called {
		d.log.Warn("machines were not created", "pool", g.Pool, "offering", g.Offering.ID, "count", len(g.Names), "try", try, "err", err)
		d.callDone(g, e)
	}
	proved := e.Kind != provider.KindUnavailable && e.Kind != provider.KindThrottled
	if called && !proved && try < createTries && d.now().Before(g.Expires) {
		g.tellJobs(reasonOf(e.Kind), e.Text)
		return max(e.After, time.Duration(1<<try)*time.Second)
	}
	g.calling = false
	if !proved || e.Kind == provider.KindConflict { // they may exist all the same: the next listing tells
		poke(d.look)
	}
	d.gangFailed(g, e.Error(), e.Kind == provider.KindConflict)
	return 0
}

// tellJobs says why the jobs that wait for a gang do.
func (g *gang) tellJobs(reason federation.Reason, detail string) {
	for _, m := range g.machines {
		for _, r := range m.runs {
			if j := r.job; j.State == federation.Pending && j.Reason != reason {
				j.Reason, j.Detail = reason, detail
				g.pool.d.put(j)
			}
		}
	}
}

// made writes down the machines of a gang.
func (d *Driver) made(g *gang, list []provider.Instance) {
	now := d.now()
	byName, ended := map[string]provider.Instance{}, map[*machine]string{}
	for i, in := range list {
		byName[cmp.Or(in.Name, g.Names[i])] = in
	}
	g.State = gangMade
	g.tellJobs(federation.ReasonBoot, "")
	d.put(g)
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
		d.put(m)
		if in.State == provider.InstanceEnded || in.State == provider.InstanceEnding {
			ended[m] = cmp.Or(in.Reason, "it ended before it had started")
		}
	}
	for m, why := range ended {
		d.gone(m, why)
	}
	d.news.nodes()
	poke(d.look) // one that ends at once is to be found soon
}

// gangFailed gives up a gang of which nothing is there. Its jobs are scheduled anew.
func (d *Driver) gangFailed(g *gang, why string, boot bool) {
	g.State, g.Why = gangOver, why
	runs := map[*run]bool{}
	for _, m := range g.machines {
		for _, r := range m.runs {
			runs[r] = true
		}
	}
	for r := range runs {
		d.unbind(r, boot, why)
	}
	for _, m := range g.machines {
		m.State, m.Why = machineEnded, why
		d.remove(m)
		m.bump()
	}
	d.put(g)
	d.closeGang(g)
	d.capacity(g.pool)
	d.news.nodes()
}

// closeGang forgets a gang whose machines have all ended.
func (d *Driver) closeGang(g *gang) {
	if g.State == gangAsked || slices.ContainsFunc(g.machines, func(m *machine) bool { return m.State != machineEnded }) {
		return
	}
	g.State = gangOver
	d.put(g)
	delete(d.gangs, g.Token)
}

// unbind takes a job's machines away before it has started on any: it waits again, unless its machines failed to boot too often.
func (d *Driver) unbind(r *run, boot bool, why string) {
	j, now := r.job, d.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], now)
		d.freed(m)
	}
	j.run, j.Run = nil, nil
	if boot {
		if j.Boots++; j.Boots >= d.t.Boots {
			d.finish(j, outcome{State: federation.BootFail, Reason: federation.ReasonBoot, Detail: why, At: now})
			return
		}
	}
	j.State, j.Reason, j.Start = federation.Pending, federation.ReasonResources, time.Time{}
	d.put(j)
	d.enqueue(j)
}
