package restd

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/usage"
	"fsub/slurm/wire"
)

// WhoKilled writes of each step who has cancelled it as slurmrestd does, by name, and returns their uids by step ("17.0").
func (s *Lister) WhoKilled(steps []wire.DBStep) (by map[string]uint32) {
	for i := range steps {
		st := &steps[i]
		if st.KillRequestUser == "" {
			continue
		}
		uid, err := strconv.ParseUint(st.KillRequestUser, 10, 32)
		if err == nil {
			name, _ := s.Users.UserName(uint32(uid))
			st.KillRequestUser = cmp.Or(name, st.KillRequestUser)
		} else {
			id, _, err := s.Users.UserIDs(st.KillRequestUser)
			if err != nil {
				continue // the site's own user
			}
			uid = uint64(id)
		}
		if by == nil {
			by = map[string]uint32{}
		}
		by[string(st.Step.ID)] = uint32(uid)
	}
	return by
}

// AddUsage puts what the sites measured into the records of a listing: the steps in place of the one that is made up, and CPU
// times. Without a store of usage, or where nothing is stored, the records stay as they are.
func (s *Lister) AddUsage(ctx context.Context, list []Part, records func(i int) *wire.DBJob) error {
	s.addSteps(list, records)
	if s.Usage == nil || len(list) == 0 {
		return nil
	}
	ids := make([]federation.JobID, 0, len(list))
	for i := range list {
		if n := len(ids); n == 0 || ids[n-1] != list[i].Job.ID {
			ids = append(ids, list[i].Job.ID)
		}
	}
	all, err := s.Usage.UsageOf(ctx, ids)
	if err != nil {
		return answer.OfStore(err, answer.NoContact)
	}
	for i := range list {
		p := &list[i]
		if p.earlier {
			continue
		}
		index := -1
		if p.task != nil && p.Job.Part == nil {
			index = p.task.Index
		}
		usages := all[p.Job.ID]
		for k := range usages {
			if u := &usages[k]; (u.Index == index || p.Job.Part != nil) && p.pending == "" && p.State != federation.Pending {
				fillUsage(records(i), u, p.Name())
			}
		}
	}
	return nil
}

// addSteps puts the steps that jobs have had so far, where their site tells them, in place of the batch script's that is made up.
func (s *Lister) addSteps(list []Part, records func(i int) *wire.DBJob) {
	at := map[federation.JobID]int{}
	var ids []federation.JobID
	for i := range list {
		p := &list[i]
		if p.State != federation.Pending && !p.earlier && (p.array == 0 || p.Job.Part != nil) { // one that has ended may not be measured yet
			at[list[i].Job.ID] = i
			ids = append(ids, list[i].Job.ID)
		}
	}
	if s.Steps == nil || len(ids) == 0 {
		return
	}
	now, told := s.Now(), map[federation.JobID]bool{}
	for _, step := range s.Steps.Steps(ids, true) {
		i := at[step.Job]
		if !told[step.Job] {
			told[step.Job], records(i).Steps = true, nil
		}
		if step.End.IsZero() {
			list[i].runStep(&step.Step, now)
		}
		records(i).Steps = append(records(i).Steps, stepRecord(&step.Step, list[i].Name()))
	}
}

// runStep fills in how far a step is that has not ended. It is suspended with its job.
func (p *Part) runStep(s *usage.Step, now time.Time) {
	if p.State == federation.Suspended {
		s.State = federation.Suspended
		s.Suspended += max(now.Sub(p.suspension.At), 0)
	}
	s.Elapsed = time.Duration(max(now.Unix()-s.Start.Unix(), 0))*time.Second - s.Suspended.Truncate(time.Second)
	s.Elapsed = max(s.Elapsed, 0)
}

func fillUsage(w *wire.DBJob, u *usage.Usage, name string) {
	if len(u.Allocated) > 0 {
		w.TRES.Allocated = withoutEnergy(u.Allocated)
	}
	if len(u.Requested) > 0 {
		w.TRES.Requested = withoutEnergy(u.Requested)
	}
	w.Flags, w.Time.System, w.Time.User, w.Time.Total = u.Flags, duration(u.System), duration(u.User), duration(u.Total)
	if len(u.Steps) == 0 {
		return
	}
	w.Steps = nil
	derived := int32(0)
	for i := range u.Steps {
		s := &u.Steps[i]
		w.Steps = append(w.Steps, stepRecord(s, name))
		if s.ID != "batch" && s.ID != "extern" {
			derived = max(derived, s.ExitStatus)
		}
	}
	w.DerivedExitCode = wire.ExitOf(derived)
}

// withoutEnergy leaves out energy, which Slurm counts among what was given, as -2 joules.
func withoutEnergy(list []usage.Amount) wire.List[wire.TRES] {
	return amounts(slices.DeleteFunc(slices.Clone(list), func(a usage.Amount) bool { return a.Type == "energy" }))
}

func stepRecord(s *usage.Step, name string) wire.DBStep {
	var st wire.DBStep
	st.Step.ID, st.Step.Name, st.State, st.ExitCode = wire.Text(name+"."+s.ID), s.Name, wire.Strings{string(dbState(s.State))}, wire.ExitOf(s.ExitStatus)
	st.KillRequestUser = s.KilledBy
	st.Nodes.Range, st.Nodes.Count, st.Nodes.List, st.Tasks.Count = s.Nodes, int64(s.NumNodes), wire.Strings{s.Nodes}, int64(s.NumTasks)
	st.Time.Start, st.Time.End, st.Time.Elapsed = wire.Time(s.Start), wire.Time(s.End), int64(s.Elapsed/time.Second)
	st.Time.Suspended = int64(s.Suspended / time.Second)
	st.Time.System, st.Time.User, st.Time.Total = duration(s.System), duration(s.User), duration(s.Total)
	st.Task.Distribution, st.CPU.Governor = s.Layout, s.Governor
	st.CPU.RequestedFrequency.Min, st.CPU.RequestedFrequency.Max = setNumber(s.MinFreq), setNumber(s.MaxFreq)
	st.Statistics.CPU.ActualFrequency, st.Statistics.Energy.Consumed = s.Frequency, wire.Num(s.Energy)
	st.TRES.Allocated, st.TRES.Requested, st.TRES.Consumed = amounts(s.Allocated), measured(&s.In), measured(&s.Out)
	return st
}

func duration(d time.Duration) wire.Duration {
	return wire.Duration{Seconds: int64(d / time.Second), Microseconds: int64(d % time.Second / time.Microsecond)}
}

func setNumber(n *int64) wire.Number {
	if n == nil {
		return wire.Number{}
	}
	return wire.Num(*n)
}

// tresIDs are the numbers that Slurm gives the TRES which every cluster has.
var tresIDs = map[string]int64{"cpu": 1, "mem": 2, "energy": 3, "node": 4, "billing": 5, "fs": 6, "vmem": 7, "pages": 8}

func tresRecord(a usage.Amount) wire.TRES {
	return wire.TRES{Type: a.Type, Name: a.Name, ID: tresIDs[a.Type], Count: a.Count}
}

func amounts(list []usage.Amount) wire.List[wire.TRES] {
	var out wire.List[wire.TRES]
	for _, a := range list {
		out = append(out, tresRecord(a))
	}
	return out
}

func measured(m *usage.Measured) wire.StepUsage {
	tasks := func(list []usage.TaskAmount) (out wire.List[wire.TaskTRES]) {
		for _, a := range list {
			out = append(out, wire.TaskTRES{TRES: tresRecord(a.Amount), Task: a.Task, Node: a.Node})
		}
		return out
	}
	return wire.StepUsage{Max: tasks(m.Max), Min: tasks(m.Min), Average: amounts(m.Average), Total: amounts(m.Total)}
}
