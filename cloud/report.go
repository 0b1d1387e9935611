package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"fsub/cloud/agentapi"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Report implements Agents.
func (a *agents) Report(ctx context.Context, id MachineID, rep agentapi.Report) (err error) {
	if err := a.isLoaded(ctx); err != nil {
		return err
	}
	defer a.survive(id, &err)
	var batch *records.Batch
	a.locked(func() {
		batch, err = a.report(id, rep)
	})
	if err != nil {
		return err
	}
	return a.rec.Durable(ctx, batch)
}

// report takes a report in, and returns the batch that makes it durable.
func (a *agents) report(id MachineID, rep agentapi.Report) (*records.Batch, error) {
	m, err := a.fleet.machine(id)
	if err != nil {
		return nil, err
	}
	a.fleet.heard(m)
	for _, s := range rep.Runs {
		a.runs.status(m, s)
	}
	if rep.Load != nil {
		m.load = *rep.Load
	}
	if rep.Use != nil {
		m.busy = inUse{at: a.now(), of: rep.Use}
	}
	if rep.Beats != nil {
		m.beats = heartbeats{at: a.now(), of: rep.Beats}
	}
	if rep.Notice != nil {
		a.noticed(m, *rep.Notice)
	}
	if rep.Ending != "" {
		a.fleet.failed(m, "it ends itself: "+rep.Ending)
	}
	a.scheduler.schedule()
	return a.rec.Flush(), nil // also where nothing has changed: an answer means that all is in the records
}

// status takes in what an agent says of a run.
func (rs *runs) status(m *machine, s agentapi.Status) {
	r := m.runs[s.Run]
	if r == nil {
		if _, ours := m.over[s.Run]; !ours && s.State == agentapi.RunEnded {
			m.bump() // it is of no job in the records: its agent forgets what ended and its orders do not name
		}
		return
	}
	i := 0
	for r.machines[i] != m {
		i++
	}
	k, j := &r.Members[i], r.job
	if i == 0 { // its agent tells those of the whole gang
		r.tellSteps(s)
	}
	if k.State == agentapi.RunEnded || k.State == s.State {
		return
	}
	k.State = s.State
	rs.put(j)
	switch s.State {
	case agentapi.RunReady:
		if i > 0 && r.ready() {
			rs.after(func() { rs.advance(r) })
		}
	case agentapi.RunRunning:
		if i == 0 && r.End == nil {
			j.State = federation.Running
		}
	case agentapi.RunEnded:
		rs.memberEnded(r, i, s)
	}
}

// memberEnded takes in that nothing of a run lives on one of its machines any more. If it is the head, that is how the job ends; a further machine that ends
// first is a failure.
func (rs *runs) memberEnded(r *run, i int, s agentapi.Status) {
	if i > 0 && r.End != nil { // it was stopped
		rs.settle(r)
		return
	}
	if i > 0 && rs.endsWithout(r, i, s) {
		return
	}
	o := rs.outcomeOf(r, s)
	if r.End != nil { // decided, while the script still ran
		r.End.Exit = s.Exit
		if o.State == federation.Completed { // it has done all the same
			r.End = &o
		}
		rs.settle(r)
		return
	}
	if i > 0 && s.Why == agentapi.WhyExit {
		o = outcome{State: federation.NodeFail, Reason: reasons.NodeDown, Detail: r.Members[i].Name + " ended its part before the script had ended", At: o.At}
	}
	rs.fail(r, o)
}

// outcomeOf is how a run ends by what an agent says.
func (rs *runs) outcomeOf(r *run, s agentapi.Status) outcome {
	o := outcome{Exit: s.Exit, Detail: s.Detail, At: rs.now()}
	if t := s.End.UTC(); !s.End.IsZero() && t.After(r.job.Start) && t.Before(o.At) {
		o.At = t
	}
	switch s.Why {
	case agentapi.WhyExit:
		switch {
		case s.Exit == 0:
			o.State = federation.Completed
		case slices.ContainsFunc(r.machines, (*machine).announced): // its steps there were stopped, and the script did not bear it
			o.State = federation.Preempted
		case s.Exit&0x7f != 0:
			sig := syscall.Signal(s.Exit & 0x7f)
			o.State, o.Reason = federation.Failed, reasons.Reason(fmt.Sprintf("RaisedSignal:%d(%s)", int(sig), signalText(sig)))
		default:
			o.State, o.Reason = federation.Failed, reasons.NonZeroExit
		}
	case agentapi.WhyCancel:
		o.State = federation.Cancelled
	case agentapi.WhyRequeue:
		o.State = federation.Pending
		if r.Stop != nil && r.Stop.Why == agentapi.WhyCancel { // it was cancelled while it was stopped for the requeue
			o.State = federation.Cancelled
		}
	case agentapi.WhyTimeout:
		o.State, o.Reason = federation.Timeout, reasons.TimeLimit
	case agentapi.WhyPreempt:
		o.State = federation.Preempted
	case agentapi.WhyMemory:
		o.State, o.Reason = federation.OutOfMemory, "OutOfMemory"
	case agentapi.WhyLaunch:
		o.State, o.Reason = federation.Failed, reasons.LaunchFailure
	default:
		o.State, o.Reason = federation.NodeFail, reasons.NodeDown
	}
	return o
}

// signalText is a signal as strsignal(3) calls it.
func signalText(sig syscall.Signal) string {
	text := sig.String()
	return strings.ToUpper(text[:1]) + text[1:]
}

// noticed takes in what the provider has announced: the machine gets no more jobs.
func (a *agents) noticed(m *machine, n agentapi.Notice) {
	if m.announced() {
		return
	}
	m.notice = &n
	m.drain = "the cloud takes it back at " + n.At.UTC().Format(time.RFC3339)
	if n.Kind == agentapi.NoticeRebalance {
		m.drain = "the cloud may take it back soon"
	}
	a.log.Info("notice", "machine", m.id, "kind", n.Kind, "at", n.At)
	a.metrics.notice(n.Kind)
	if n.Kind == agentapi.NoticePreempt {
		for _, r := range m.runs {
			a.runs.goOn(r)                                                                         // so that it can use the time that is left
			if do, _ := r.job.Job.Spec.NodeLoss(); do != sbatch.LossShrink || r.machines[0] == m { // else the others are not to end
				a.runs.warn(r, n.At)
			}
		}
	}
	if len(m.runs) == 0 {
		a.fleet.endMachine(m, m.drain)
	}
	a.news.nodes()
}
