package cloud

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

// fleet is the machines that there are, in the gangs that they were rented in and the pools that they are for.
type fleet struct {
	*base
	pools   *pools
	cool    *cooldowns
	orphans *orphans
	runs    *runs
	sweeps  *sweeps

	gangs    map[string]*gang // by token
	machines map[MachineID]*machine
	names    map[string]*machine
	held     map[string]string // why operators have drained a node, by its name
	met      bool              // a machine has reached the daemon, as far as the records of this month tell
}

func newFleet(b *base, p *pools, c *cooldowns, st *orphans, rs *runs, sw *sweeps) *fleet {
	return &fleet{base: b, pools: p, cool: c, orphans: st, runs: rs, sweeps: sw, gangs: map[string]*gang{}, machines: map[MachineID]*machine{}, names: map[string]*machine{}, held: map[string]string{}}
}

// machine finds a machine that may speak.
func (f *fleet) machine(id MachineID) (*machine, error) {
	m := f.machines[id]
	if m == nil || m.State != machineUp && m.State != machineEnding {
		return nil, fmt.Errorf("machine %s: %w", id, federation.ErrDenied)
	}
	return m, nil
}

// add and remove keep count of machines.
func (f *fleet) add(m *machine) {
	f.machines[m.id], f.names[m.Name] = m, m
	m.pool.machines++
	i, _ := slices.BinarySearchFunc(m.group.machines, m, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	m.group.machines = slices.Insert(m.group.machines, i, m)
}

func (f *fleet) remove(m *machine) {
	if f.machines[m.id] != m {
		return
	}
	delete(f.machines, m.id)
	delete(f.names, m.Name)
	m.group.given(m.Name)
	m.pool.machines--
	if i := slices.Index(m.group.machines, m); i >= 0 {
		m.group.machines = slices.Delete(m.group.machines, i, i+1)
	}
}

// newGang is a gang that is thought of: its machines can be given to jobs, and nothing is written or asked for yet.
func (f *fleet) newGang(number int64, ng *nodeGroup, names []string, near bool) *gang {
	now := f.now()
	g := &gang{pool: ng.pool, group: ng}
	g.gangRecord = gangRecord{Number: number, Pool: ng.pool.Name, Offering: ng.offering, Names: names, Near: near, Run: ng.offering.Run, Asked: now, State: gangAsked,
		Expires: now.Add(ng.offering.Queue + f.t.bootWithin(&ng.offering)).Truncate(time.Second)}
	if f.cfg.AgentServer != nil {
		g.Servers = f.cfg.AgentServer.Servers()
	}
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

// calling reports whether the call that asks for a gang has not returned yet.
func (f *fleet) calling(token string) bool { return f.gangs[token] != nil && f.gangs[token].calling }

// closeGang forgets a gang whose machines have all ended.
func (f *fleet) closeGang(g *gang) {
	if g.State == gangAsked || slices.ContainsFunc(g.machines, func(m *machine) bool { return m.State != machineEnded }) {
		return
	}
	g.State = gangOver
	f.put(g)
	delete(f.gangs, g.Token)
}

// mayGrow reports whether new machines of a node group may be asked for.
func (f *fleet) mayGrow(ng *nodeGroup) (refusal, bool) {
	switch {
	case ng.gone:
		return refusal{reason: reasons.ReqNodeNotAvail, detail: "the cloud does not offer them any more", back: true}, false
	case ng.ends(f.now(), ng.offering.Boot):
		return refusal{reason: reasons.ReqNodeNotAvail, detail: blockEnds, back: true}, false
	case f.cfg.AgentServer == nil:
		return refusal{reason: reasons.ReqNodeNotAvail, detail: "there is no agent server for machines"}, false
	}
	if ng.pool.spent.why != "" {
		return refusal{reason: reasons.Budget, detail: ng.pool.spent.why, back: true}, false
	}
	c := f.cool.cooling(&ng.offering, nil)
	if c == nil {
		return refusal{}, true
	}
	return refusal{reason: reasonOf(c.Kind), detail: c.Text, back: c.Kind != kindBoot && c.Until.Sub(f.now()) > shortWait}, false
}

// shortWait is what a job rather waits than be given back for.
const shortWait = time.Minute

// loadGang brings a gang back with machines of which nothing is known yet. Its pool may have gone from the configuration: then it
// is one without groups of its own that gets no jobs.
func (f *fleet) loadGang(g *gang) {
	g.pool = f.pools.named(g.Pool)
	if g.pool == nil {
		g.pool = newPool(f, PoolConfig{Name: g.Pool, Idle: time.Nanosecond})
		g.pool.retired = true
		f.pools.all = append(f.pools.all, g.pool)
	}
	g.group = g.pool.groupOf(&g.Offering)
	version := uint64(f.now().UnixMicro())
	for i := range g.Names {
		m := newMachine(g, i)
		m.version = version
		g.machines = append(g.machines, m)
		f.add(m)
	}
	f.gangs[g.Token] = g
}

func (f *fleet) loadMachine(r machineRecord, id string) {
	g := f.gangs[r.Gang]
	if g == nil || r.Index >= len(g.machines) {
		f.orphans.seen[r.Instance] = &orphan{since: f.now(), machine: r, id: MachineID(id)} // one that was being ended
		return
	}
	m := g.machines[r.Index]
	m.machineRecord = r
	m.idle = f.now()
	if m.Held != "" {
		f.held[m.Name] = m.Held
	}
	f.heard(m) // it may have been answered just before the end
	if m.State == machineEnding {
		m.drain, m.deleteAt = m.Why, f.now()
	}
}

// loadSpent adds up what the machines that have ended in this month have cost.
func (f *fleet) loadSpent(records []records.PoolRecord, now time.Time) {
	for _, p := range f.pools.all {
		p.spent.roll(now)
	}
	for _, r := range records {
		var m machineRecord
		if r.Closed.IsZero() || json.Unmarshal(r.Data, &m) != nil {
			continue
		}
		f.met = f.met || !m.Ready.IsZero()
		if p := f.pools.named(m.Pool); p != nil {
			p.spent.add(&m)
		}
	}
}

// resumeMade: machines of a gang that was made and that have no open record have ended.
func (f *fleet) resumeMade(g *gang) {
	for _, m := range g.machines {
		if m.State == machineAsked {
			m.State, m.Ended = machineEnded, g.Asked
			for _, r := range values(m.runs) {
				if k := r.memberOf(m); k.State != agentapi.RunEnded {
					f.runs.failMachine(m, cmp.Or(m.Why, "it is gone"), false)
				}
			}
			f.remove(m)
		}
	}
	f.closeGang(g)
}
