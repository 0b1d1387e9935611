package cloud

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/accounting"
	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// machine is a rented machine, in memory.
type machine struct {
	machineRecord
	id    MachineID
	gang  *gang
	pool  *pool
	group *nodeGroup
	runs  map[string]*run // that have a part of it
	over  map[string]bool // runs that have ended. True once that is in the records: the agent may forget them then
	cpus  int             // in use
	mem   sbatch.MemMiB
	gpus  []bool // in use, by index
	drain string // why it gets no new jobs; "": it does
	// keeper is the job that the machine is kept for while that waits for others; nil: none.
	keeper *job

	version uint64
	changed chan struct{}
	signals []signal
	acked   uint64
	streams map[string]*streamWait // connections that its agent is to make, by ID

	stops    map[string]time.Time // runs that its agent is to end, and since when it is, or was last seen to send what they wrote
	lapse    time.Time            // it is known to run nothing from then on, unless it is heard of before
	polled   time.Time            // its agent spoke last, to this daemon
	notice   *agentapi.Notice
	load     agentapi.Load // as its agent told it last
	busy     inUse         // likewise how busy its runs are
	beats    heartbeats    // and how far
	problems []agentapi.Problem
	idle     time.Time       // since when it has no job
	deleteAt time.Time       // when to ask the cloud to end it (again); zero: not
	said     string          // how its console ends, where it did not come up
	refused  *provider.Error // why it could not, by the cloud's word
	placed   bool            // the cloud was asked how near it is to others
	near     []string        // what it said: see Topologist
}

// signal is one that waits for the agent to carry it out.
type signal struct {
	agentapi.Signal
	done   chan struct{}
	missed *bool // its step did not run; set before done is closed
	sent   bool  // the agent may have it
}

func newMachine(g *gang, index int) *machine {
	m := &machine{gang: g, pool: g.pool, group: g.group, id: machineID(g, index), runs: map[string]*run{}, over: map[string]bool{}, stops: map[string]time.Time{}, streams: map[string]*streamWait{}, changed: make(chan struct{}),
		gpus: make([]bool, g.Offering.GPUs)}
	m.machineRecord = machineRecord{Gang: g.Token, Index: index, Pool: g.Pool, Name: g.Names[index], Offering: g.Offering.ID, Market: g.Offering.Market,
		Price: accounting.MoneyOf(float64(g.Offering.Price)), Least: g.Offering.Least, State: machineAsked,
		CPUs: g.Offering.CPUs, GPUs: g.Offering.GPUs, GPUType: g.Offering.GPUType}
	return m
}

func machineID(g *gang, index int) MachineID {
	return MachineID(fmt.Sprintf("%s:%d.%d", g.pool.fleet.cfg.Site, g.Number, index))
}

func (m *machine) Record() (records.PoolRecord, any) {
	return records.PoolRecord{Kind: records.PoolMachine, ID: string(m.id), Job: m.LastJob, Closed: m.Ended}, &m.machineRecord
}

// bump lets those who wait for the machine's orders look again.
func (m *machine) bump() {
	m.version++
	close(m.changed)
	m.changed = make(chan struct{})
}

// usable reports whether the machine may be given jobs of a user.
func (m *machine) usable(user string) bool {
	switch m.State {
	case machineAsked, machineBooting, machineUp:
		return m.drain == "" && m.Held == "" && m.gang.State != gangOver && (m.User == "" || m.User == user)
	}
	return false
}

// free is what the machine can still give.
func (m *machine) free() demand.Node {
	o := &m.gang.Offering
	n := demand.Node{Name: m.Name, CPUs: o.CPUs - m.cpus, Mem: o.Mem - m.mem, GPUs: o.GPUs, GPUType: o.GPUType, Busy: len(m.runs) > 0}
	for _, used := range m.gpus {
		if used {
			n.GPUs--
		}
	}
	if len(o.GRES) > 0 {
		n.GRES = slices.Clone(o.GRES)
		for i := range n.GRES {
			n.GRES[i].Count -= m.used(n.GRES[i])
		}
	}
	return n
}

// used is how many of a resource that is not GPUs its jobs have.
func (m *machine) used(of gres.Resource) (n int) {
	for _, r := range m.runs {
		for _, g := range r.memberOf(m).GRES {
			if g.Name == of.Name {
				n += g.Count
			}
		}
	}
	return n
}

// take gives a run a part of the machine, and returns which GPUs.
func (m *machine) take(r *run, s demand.Share, now time.Time) (gpus []int) {
	m.cpus += s.CPUs
	m.mem += s.Mem
	for i := range m.gpus {
		if len(gpus) < s.GPUs && !m.gpus[i] {
			m.gpus[i] = true
			gpus = append(gpus, i)
		}
	}
	if len(m.runs) == 0 && m.State != machineAsked {
		m.BusyFrom = now
	}
	m.runs[r.ID] = r
	return gpus
}

// devices are the numbers by which programs on the machine know GPUs of it.
func (m *machine) devices(gpus []int) []int {
	if len(m.Devices) != len(m.gpus) {
		return gpus
	}
	var out []int
	for _, i := range gpus {
		out = append(out, m.Devices[i])
	}
	return out
}

// give takes back what take gave. charged is for how long the run's job is charged for it.
func (m *machine) give(r *run, k *member, charged time.Duration, now time.Time) {
	if m.runs[r.ID] != r {
		return
	}
	m.Busy += time.Duration(float64(charged) * m.part(k))
	if !r.Taken.IsZero() {
		m.LastJob = r.job.id()
		if r.job.Start.IsZero() { // the others never came
			m.waited(r, k, now)
		}
	}
	delete(m.runs, r.ID)
	delete(m.stops, r.ID)
	m.cpus -= k.CPUs
	m.mem -= k.Mem
	for _, i := range k.GPUs {
		m.gpus[i] = false
	}
	if len(m.runs) == 0 {
		m.idle, m.BusyFrom = now, time.Time{}
		m.countDrained(now)
	}
}

// part is how much of the machine a member of a run is charged for.
func (m *machine) part(k *member) float64 {
	if !m.pool.Shared {
		return 1
	}
	o := &m.gang.Offering
	return min(1, max(share(k.CPUs, o.CPUs), share(int(k.Mem), int(o.Mem)), share(len(k.GPUs), o.GPUs)))
}

// slice is the machines that go when one goes, itself among them.
func (m *machine) slice() []*machine {
	h := m.group.hosts()
	from := m.Index / h * h
	return m.gang.machines[from:min(from+h, len(m.gang.machines))]
}

// sliceFree reports whether no machine of the slice has a job.
func (m *machine) sliceFree() bool {
	return !slices.ContainsFunc(m.slice(), func(m *machine) bool { return len(m.runs) > 0 })
}

// sliceIdle is since when no machine of the slice has a job, where that is so.
func (m *machine) sliceIdle() (since time.Time) {
	for _, one := range m.slice() {
		if one.idle.After(since) {
			since = one.idle
		}
	}
	return since
}

// announced reports whether the cloud has said that it takes the machine.
func (m *machine) announced() bool { return m.notice != nil && m.notice.Kind == agentapi.NoticePreempt }

// What is said of a machine's end where the cloud gives no reason.
const (
	endedUnsaid = "the cloud has ended it"
	endedUnseen = "the cloud does not know it any more"
)

// taken reports whether a machine that has ended was taken back by the cloud: by its words, or, of one that may be, for want of any.
func (m *machine) taken(why string) bool {
	switch {
	case m.announced():
		return true
	case m.State == machineEnding:
		return false
	case m.Market == provider.Block && m.group.ends(m.pool.fleet.now(), 0), !m.until().IsZero() && !m.pool.fleet.now().Before(m.until()):
		return true
	}
	return strings.Contains(strings.ToLower(why), "spot") || m.Market == provider.Spot && (why == endedUnsaid || why == endedUnseen)
}

// order has an agent send a signal.
func (m *machine) order(s agentapi.Signal, now time.Time) signal {
	last := m.acked
	if n := len(m.signals); n > 0 {
		last = m.signals[n-1].Seq
	}
	m.acked = max(last+1, uint64(now.UnixMicro()))
	s.Seq = m.acked
	o := signal{Signal: s, done: make(chan struct{}), missed: new(bool)}
	m.signals = append(m.signals, o)
	m.bump()
	return o
}

// dropSignals drops what a run that is over here was to be sent.
func (m *machine) dropSignals(run string) {
	m.signals = slices.DeleteFunc(m.signals, func(s signal) bool {
		if s.Run == run {
			*s.missed = true
			close(s.done)
		}
		return s.Run == run
	})
}

// carriedOut takes in what the agent has found, and drops the signals that it has carried out.
func (m *machine) carriedOut(p *agentapi.Poll) {
	m.problems = p.Problems
	m.signals = slices.DeleteFunc(m.signals, func(s signal) bool {
		if s.Seq <= p.Signals {
			*s.missed = slices.Contains(p.Missed, s.Seq)
			close(s.done)
			return true
		}
		return false
	})
}
