package cloud

import (
	"fmt"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/cloud/agentapi"
	"fsub/cloud/layout"
	"fsub/federation"
	"fsub/sbatch"
)

// job is an attempt in memory.
type job struct {
	jobRecord
	payload []byte // JSON of sbatch.Payload; nil: in the store only
	written bool   // its record is in the store, and the payload with it

	line *line // while its claim waits
	run  *run  // that holds machines

	shown federation.SiteJob // what was written of it last: what others see
	rev   uint64             // of shown; 0: nothing yet
	newer *job               // the list of jobs by rev
	older *job
}

func (j *job) id() federation.JobID { return j.Job.ID }

func (j *job) Record() (federation.PoolRecord, any) {
	r := federation.PoolRecord{Kind: federation.PoolJob, ID: j.Key, Job: j.id(), Closed: j.End}
	if !j.written && j.End.IsZero() {
		r.Payload = j.payload
	}
	if j.run != nil { // of a run that goes on, agents tell a new daemon once more
		open := j.jobRecord
		if open.Steps = nil; j.run.End != nil {
			open.Steps = j.run.steps
		}
		return r, &open
	}
	return r, &j.jobRecord
}

// begin is when the job may start at the earliest.
func (j *job) begin() time.Time {
	if j.NotBefore.After(j.Job.Spec.Begin) {
		return j.NotBefore
	}
	return j.Job.Spec.Begin
}

// limit is the job's time limit; sbatch.Unlimited: none.
func (j *job) limit(p *pool) time.Duration {
	for _, ng := range []time.Duration{j.Job.Spec.TimeLimit, p.DefaultTime, p.MaxTime} {
		if ng > 0 {
			return ng
		}
	}
	return sbatch.Unlimited
}

// component is the Spec of one component of a job.
func (j *job) component(i int) *sbatch.Spec {
	if i == 0 {
		return &j.Job.Spec
	}
	return &j.Job.Spec.Het[i-1]
}

// run is a job with its machines. What is durable of it is in the job's record.
type run struct {
	*runRecord
	job      *job
	machines []*machine     // of Members
	visible  bool           // that all its machines are up is in the records: they may be told of it
	told     *agentapi.Stop // the Stop of the record, once it is durable
	limit    time.Duration  // likewise the time limit, if it is another than when the run was launched
	// suspended: likewise that the job is
	suspended bool
	sent      []bool          // the launch went to the member's agent, or may have
	gangs     []*gang         // that were started for it
	steps     []agentapi.Step // as told so far
	stepAt    map[string]int  // where each is, by ID
}

// gang is a request for machines, in memory.
type gang struct {
	gangRecord
	pool     *pool
	group    *nodeGroup
	machines []*machine
	calling  bool // Create is being called, or will be
}

func (g *gang) Record() (federation.PoolRecord, any) {
	r := federation.PoolRecord{Kind: federation.PoolGang, ID: g.Token}
	if g.State == gangOver && !slices.ContainsFunc(g.machines, func(m *machine) bool { return m.State != machineEnded }) {
		for _, m := range g.machines {
			if m.Ended.After(r.Closed) {
				r.Closed = m.Ended
			}
		}
		if r.Closed.IsZero() {
			r.Closed = g.Asked
		}
	}
	return r, &g.gangRecord
}

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

	version uint64
	changed chan struct{}
	signals []signal
	acked   uint64

	stops    map[string]time.Time // runs that its agent is to end, and since when it is, or was last seen to send what they wrote
	lapse    time.Time            // it is known to run nothing from then on, unless it is heard of before
	polled   time.Time            // its agent spoke last, to this daemon
	notice   *agentapi.Notice
	load     agentapi.Load // as its agent told it last
	idle     time.Time     // since when it has no job
	deleteAt time.Time     // when to ask the cloud to end it (again); zero: not
	placed   bool          // the cloud was asked how near it is to others
	near     []string      // what it said: see Topologist
}

// signal is one that waits for the agent to carry it out.
type signal struct {
	agentapi.Signal
	done   chan struct{}
	missed *bool // its step did not run; set before done is closed
	sent   bool  // the agent may have it
}

func (m *machine) Record() (federation.PoolRecord, any) {
	return federation.PoolRecord{Kind: federation.PoolMachine, ID: string(m.id), Job: m.LastJob, Closed: m.Ended}, &m.machineRecord
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
		return m.drain == "" && m.gang.State != gangOver && (m.User == "" || m.User == user)
	}
	return false
}

// free is what the machine can still give.
func (m *machine) free() layout.Node {
	o := &m.gang.Offering
	n := layout.Node{Name: m.Name, CPUs: o.CPUs - m.cpus, Mem: o.Mem - m.mem, GPUs: o.GPUs, GPUType: o.GPUType, Busy: len(m.runs) > 0}
	for _, used := range m.gpus {
		if used {
			n.GPUs--
		}
	}
	return n
}

// take gives a run a part of the machine, and returns which GPUs.
func (m *machine) take(r *run, s layout.Share, now time.Time) (gpus []int) {
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

// give takes back what take gave.
func (m *machine) give(r *run, k *member, now time.Time) {
	if m.runs[r.ID] != r {
		return
	}
	delete(m.runs, r.ID)
	delete(m.stops, r.ID)
	m.cpus -= k.CPUs
	m.mem -= k.Mem
	for _, i := range k.GPUs {
		m.gpus[i] = false
	}
	if len(m.runs) == 0 {
		m.idle = now
		m.settleBusy(now)
	}
}

func (m *machine) settleBusy(now time.Time) {
	if !m.BusyFrom.IsZero() {
		m.Busy += now.Sub(m.BusyFrom)
		m.BusyFrom = time.Time{}
	}
}

func newMachine(g *gang, index int) *machine {
	m := &machine{gang: g, pool: g.pool, group: g.group, id: machineID(g, index), runs: map[string]*run{}, over: map[string]bool{}, stops: map[string]time.Time{}, changed: make(chan struct{}),
		gpus: make([]bool, g.Offering.GPUs)}
	m.machineRecord = machineRecord{Gang: g.Token, Index: index, Pool: g.Pool, Name: g.Names[index], Offering: g.Offering.ID, Market: g.Offering.Market,
		Price: accounting.MoneyOf(float64(g.Offering.Price)), State: machineAsked}
	return m
}

func machineID(g *gang, index int) MachineID {
	return MachineID(fmt.Sprintf("%s:%d.%d", g.pool.fleet.cfg.Site, g.Number, index))
}
