package slurm

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// Measured implements [driver.Measurer] with one call to slurmdbd. A site without slurmdbd, or with an API that does not
// select by job, knows nothing.
func (b *books) Measured(ctx context.Context, refs []federation.JobRef) (map[federation.JobID][]usage.Usage, error) {
	out := map[federation.JobID][]usage.Usage{}
	tr, err := b.c.negotiated(ctx)
	if err != nil || tr.old || len(refs) == 0 {
		return out, err
	}
	byNumber := map[int64]*federation.JobRef{}
	numbers := make([]string, len(refs))
	for i := range refs {
		n := int64(refs[i].SiteJobID)
		if n == 0 {
			n = int64(refs[i].Pinned())
		}
		byNumber[n], numbers[i] = &refs[i], strconv.FormatInt(n, 10)
	}
	var a wire.DBJobsResponse
	q := url.Values{"step": numbers} // each by itself: 24.11 takes no list
	err = b.c.do(ctx, request{op: "dbjobs", method: http.MethodGet, db: true, path: wire.PathDBJobs, query: q}, &a)
	if err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: dbjobs: %w", b.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	type one struct {
		job   federation.JobID
		index int
	}
	newest, running := map[one]*wire.DBJob{}, map[federation.JobID]bool{}
	rows := withoutGhosts(a.Jobs)
	for i := range rows {
		r := &rows[i]
		ref := byNumber[r.JobID]
		if r.Array.JobID != 0 {
			ref = byNumber[r.Array.JobID]
		}
		if ref == nil || !sameAttempt(r, ref) {
			continue
		}
		if s := state(r.State.Current); !s.Ended() {
			running[ref.ID] = running[ref.ID] || s != federation.Pending
			continue
		}
		k := one{ref.ID, -1}
		if r.Array.TaskID.Set {
			k.index = int(r.Array.TaskID.Number)
		}
		if newest[k] == nil || newest[k].Time.Start <= r.Time.Start { // there is a row for each requeue
			newest[k] = r
		}
	}
	for k, r := range newest {
		if !running[k.job] { // slurmdbd does not have all of it yet
			out[k.job] = append(out[k.job], usageOf(k.job, k.index, r))
		}
	}
	return out, nil
}

// sameAttempt reports whether a record can be that of an attempt: its key, where the record has one, and not from before.
func sameAttempt(r *wire.DBJob, ref *federation.JobRef) bool {
	if key := keyOf(r.Comment.Administrator); key != "" && ref.Key != "" {
		return key == ref.Key
	}
	return ref.Submitted.IsZero() || r.Time.Submission >= ref.Submitted.Add(-time.Minute).Unix() // clocks differ
}

// usageOf translates what slurmdbd has of a job or task.
func usageOf(job federation.JobID, index int, r *wire.DBJob) usage.Usage {
	u := usage.Usage{Job: job, Index: index, Flags: r.Flags, Allocated: amounts(r.TRES.Allocated), Requested: amounts(r.TRES.Requested)}
	for i := range r.Steps { // slurmrestd leaves the sums to its readers
		s := stepOf(&r.Steps[i])
		u.System, u.User, u.Total = u.System+s.System, u.User+s.User, u.Total+s.Total
		u.Steps = append(u.Steps, s)
	}
	return u
}

func stepOf(st *wire.DBStep) usage.Step {
	_, id, _ := strings.Cut(string(st.Step.ID), ".")
	s := usage.Step{
		ID: id, Name: st.Step.Name, State: state(st.State), ExitStatus: waitStatus(st.ExitCode), Nodes: st.Nodes.Range, NumNodes: int(st.Nodes.Count),
		NumTasks: int(st.Tasks.Count), Start: unix(st.Time.Start.Value()), End: unix(st.Time.End.Value()),
		KilledBy: st.KillRequestUser,
		Elapsed:  time.Duration(st.Time.Elapsed) * time.Second, Suspended: time.Duration(st.Time.Suspended) * time.Second,
		System: cpuTime(st.Time.System), User: cpuTime(st.Time.User), Total: cpuTime(st.Time.Total), Layout: st.Task.Distribution,
		Governor: st.CPU.Governor, MinFreq: setNumber(st.CPU.RequestedFrequency.Min), MaxFreq: setNumber(st.CPU.RequestedFrequency.Max),
		Frequency: frequency(st.Statistics.CPU.ActualFrequency), Energy: st.Statistics.Energy.Consumed.Value(),
		Allocated: amounts(st.TRES.Allocated), In: measured(&st.TRES.Requested), Out: measured(&st.TRES.Consumed),
	}
	return s
}

// frequency drops what cannot be one: 24.11 gives nonsense for steps of several nodes.
func frequency(kHz int64) int64 {
	if kHz < 0 || kHz > 100e6 {
		return 0
	}
	return kHz
}

func cpuTime(d wire.Duration) time.Duration {
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Microseconds)*time.Microsecond
}

func setNumber(n wire.Number) *int64 {
	if !n.Set {
		return nil
	}
	return &n.Number
}

func amounts(list []wire.TRES) []usage.Amount {
	var out []usage.Amount
	for _, t := range list {
		out = append(out, usage.Amount{Type: t.Type, Name: t.Name, Count: t.Count})
	}
	return out
}

func measured(u *wire.StepUsage) usage.Measured {
	tasks := func(list []wire.TaskTRES) (out []usage.TaskAmount) {
		for _, t := range list {
			out = append(out, usage.TaskAmount{Amount: usage.Amount{Type: t.Type, Name: t.Name, Count: t.Count}, Task: t.Task, Node: t.Node})
		}
		return out
	}
	return usage.Measured{Max: tasks(u.Max), Min: tasks(u.Min), Average: amounts(u.Average), Total: amounts(u.Total)}
}
