package cloud

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"fsub/accounting"
	"fsub/cloud/agentapi"
	"fsub/federation"
	"fsub/slurm/hostlist"
)

// runID names the nth run of an attempt: no other run of any attempt has the name.
func (j *job) runID(n int) string {
	sum := sha256.Sum256([]byte(j.Key))
	return fmt.Sprintf("%d-%s-%d", j.id(), hex.EncodeToString(sum[:4]), n)
}

// memberOf is what a run has of a machine.
func (r *run) memberOf(m *machine) *member {
	for i := range r.machines {
		if r.machines[i] == m {
			return &r.Members[i]
		}
	}
	return nil
}

// up reports whether all machines of a run have said hello.
func (r *run) up() bool {
	for _, m := range r.machines {
		if m.State != machineUp {
			return false
		}
	}
	return true
}

// ready reports whether all machines but the head have prepared themselves.
func (r *run) ready() bool {
	for i := range r.Members[1:] {
		if r.Members[i+1].State == "" {
			return false
		}
	}
	return true
}

// advance does what is next for a run that has no end yet.
func (rs *runs) advance(r *run) {
	j := r.job
	if j.run != r || r.End != nil || !r.up() {
		return
	}
	if j.State == federation.Pending {
		j.State, j.Reason, j.Detail, j.Start = federation.Configuring, federation.ReasonNone, "", rs.now()
		rs.put(j)
		rs.after(func() {
			r.visible = true
			r.bump()
		})
	}
	if r.visible {
		r.bump()
	}
}

func (r *run) bump() {
	for _, m := range r.machines {
		m.bump()
	}
}

// shows reports whether the machine of the ith member may be told of the run.
func (r *run) shows(i int) bool {
	if !r.visible {
		return false
	}
	return i > 0 || r.sent[0] || r.Members[0].State != "" || r.ready()
}

// fail decides how a run ends, unless that is decided.
func (rs *runs) fail(r *run, o outcome) {
	if r.End == nil {
		r.End = &o
		r.job.unsuspend(rs.now())
		r.job.State = federation.Completing
		rs.put(r.job)
	}
	rs.settle(r)
}

// settle stops what lives of a run whose end is decided, and completes it when nothing does.
func (rs *runs) settle(r *run) {
	if r.End == nil || r.job.run != r {
		return
	}
	living := false
	for i := range r.Members {
		k := &r.Members[i]
		if k.State != agentapi.RunEnded && !r.sent[i] && k.State == "" {
			k.State = agentapi.RunEnded // its agent was never told of it
		}
		living = living || k.State != agentapi.RunEnded
	}
	if !living {
		rs.complete(r)
		return
	}
	if r.Stop == nil {
		r.Stop = &agentapi.Stop{Why: whyOf(r.End.State), Grace: rs.t.KillWait}
	}
	rs.put(r.job)
	rs.bumpAfter(r)
}

// bumpAfter shows the run's machines their orders once what was put is durable: an agent that forgets a run, or stops it, must not know more than the records.
func (rs *runs) bumpAfter(r *run) {
	rs.after(func() {
		r.told = r.Stop
		for _, m := range r.machines {
			if _, ok := m.over[r.ID]; ok {
				m.over[r.ID] = true
			}
			m.bump()
		}
	})
}

// whyOf is what the further machines of a gang are told when it ends.
func whyOf(s federation.State) agentapi.Why {
	switch s {
	case federation.Completed, federation.Failed:
		return agentapi.WhyExit
	case federation.Cancelled:
		return agentapi.WhyCancel
	case federation.Pending:
		return agentapi.WhyRequeue
	case federation.Timeout:
		return agentapi.WhyTimeout
	case federation.OutOfMemory:
		return agentapi.WhyMemory
	case federation.Preempted:
		return agentapi.WhyPreempt
	}
	return agentapi.WhyNode
}

// complete ends a run of which nothing lives: its machines are free, and the job has ended or waits again.
func (rs *runs) complete(r *run) {
	j, now := r.job, rs.now()
	for i, m := range r.machines {
		m.give(r, &r.Members[i], now)
		m.over[r.ID], m.LastJob = false, j.id()
		m.signals = slices.DeleteFunc(m.signals, func(s signal) bool {
			if s.Run == r.ID {
				*s.missed = true
				close(s.done)
			}
			return s.Run == r.ID
		})
		rs.fleet.recorded(m)
		rs.queue.capacity(m.pool)
	}
	j.run, j.Steps = nil, r.stepsAtEnd()
	if r.End.State == federation.Pending {
		j.keepRun(r)
		j.State, j.Reason, j.Detail, j.Start, j.Suspension = federation.Pending, r.End.Reason, r.End.Detail, time.Time{}, federation.Suspension{}
		j.Restarts++
		j.NotBefore = now.Add(rs.t.Again)
		rs.put(j)
		rs.queue.enqueue(j)
	} else {
		rs.finish(j, *r.End)
	}
	rs.bumpAfter(r)
	rs.news.nodes()
}

// maxEarlier bounds the runs that are kept of a job.
const maxEarlier = 200

// keepRun notes a run that a requeue has ended, with what it has cost.
func (j *job) keepRun(r *run) {
	if j.Start.IsZero() {
		return
	}
	end := r.End.At
	if end.Before(j.Start) {
		end = j.Start
	}
	j.Earlier = append(slices.Clip(j.Earlier), federation.AttemptRun{State: federation.Requeued, Started: j.Start, Ended: end, Nodes: r.part(0).Nodes, ExitStatus: r.End.Exit,
		Suspension: j.Suspension, Cost: r.Price.For(end.Sub(j.Start))})
	if len(j.Earlier) > maxEarlier { // the oldest one is forgotten; its money is not
		j.Earlier[1].Cost += j.Earlier[0].Cost
		j.Earlier = j.Earlier[1:]
	}
}

// finish ends a job.
func (rs *runs) finish(j *job, o outcome) {
	rs.queue.dequeue(j)
	j.unsuspend(o.At)
	j.State, j.Reason, j.Detail, j.Exit, j.End = o.State, o.Reason, o.Detail, o.Exit, o.At
	if j.End.Before(j.Start) {
		j.End = j.Start
	}
	rs.jobs.payloads -= len(j.payload)
	if j.written {
		j.payload = nil
	}
	rs.jobs.over = append(rs.jobs.over, j)
	rs.put(j)
}

// key is the secret of a run's steps. It is made of the daemon's key, and kept nowhere.
func (a *agents) key(r *run) []byte {
	h := hmac.New(sha256.New, a.cfg.Secret)
	h.Write([]byte("fsub steps\x00" + string(a.cfg.Site) + "\x00" + r.ID))
	return h.Sum(nil)
}

// parts are what the components of a run hold, in Slurm's words.
func (r *run) parts(groups int) []part {
	parts, names := make([]part, groups), make([][]string, groups)
	tres := make([]accounting.TRES, groups)
	for i := range r.Members {
		k := &r.Members[i]
		p, t := &parts[k.Group], tres[k.Group]
		if t == nil {
			t = accounting.TRES{}
			tres[k.Group] = t
		}
		names[k.Group] = append(names[k.Group], k.Name)
		p.NumNodes++
		p.CPUs += k.CPUs
		t["node"]++
		t["cpu"] += int64(k.CPUs)
		t["billing"] = t["cpu"]
		if k.Mem > 0 {
			t["mem"] += int64(k.Mem)
		}
		if n := len(k.GPUs); n > 0 {
			p.GPUs += n
			t["gres/gpu"] += int64(n)
			if kind := r.machines[i].gang.Offering.GPUType; kind != "" {
				p.GPUType = kind
				t["gres/gpu:"+kind] += int64(n)
			}
		}
	}
	for g := range parts {
		parts[g].Nodes, parts[g].TRES = hostlist.Compress(names[g]), tres[g].String()
	}
	return parts
}

// runs starts, stops and ends jobs on their machines.
type runs struct {
	*base
	fleet *fleet
	queue *queue
	jobs  *jobTable
}
