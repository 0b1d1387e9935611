package api

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// addUsage puts what the sites measured into the records of a listing: the steps in place of the one that is made up, and CPU
// times. Without a store of usage, or where nothing is stored, the records stay as they are.
func (s *lister) addUsage(ctx context.Context, list []part, records func(i int) *wire.DBJob) error {
	s.addSteps(list, records)
	if s.usage == nil || len(list) == 0 {
		return nil
	}
	ids := make([]federation.JobID, 0, len(list))
	for i := range list {
		if n := len(ids); n == 0 || ids[n-1] != list[i].job.ID {
			ids = append(ids, list[i].job.ID)
		}
	}
	all, err := s.usage.UsageOf(ctx, ids)
	if err != nil {
		return ofStore(err, errNoContact)
	}
	for i := range list {
		p := &list[i]
		if p.earlier {
			continue
		}
		index := -1
		if p.task != nil && p.job.Part == nil {
			index = p.task.Index
		}
		usages := all[p.job.ID]
		for k := range usages {
			if u := &usages[k]; (u.Index == index || p.job.Part != nil) && p.pending == "" && p.state != federation.Pending {
				fillUsage(records(i), u, p.name())
			}
		}
	}
	return nil
}

// addSteps puts the steps that jobs have had so far, where their site tells them, in place of the batch script's that is made up.
func (s *lister) addSteps(list []part, records func(i int) *wire.DBJob) {
	at := map[federation.JobID]int{}
	var ids []federation.JobID
	for i := range list {
		p := &list[i]
		if p.state != federation.Pending && !p.earlier && (p.array == 0 || p.job.Part != nil) { // one that has ended may not be measured yet
			at[list[i].job.ID] = i
			ids = append(ids, list[i].job.ID)
		}
	}
	if s.steps == nil || len(ids) == 0 {
		return
	}
	now, told := s.now(), map[federation.JobID]bool{}
	for _, step := range s.steps.Steps(ids, true) {
		i := at[step.Job]
		if !told[step.Job] {
			told[step.Job], records(i).Steps = true, nil
		}
		if step.End.IsZero() {
			list[i].runStep(&step.Step, now)
		}
		records(i).Steps = append(records(i).Steps, stepRecord(&step.Step, list[i].name()))
	}
}

// runStep fills in how far a step is that has not ended. It is suspended with its job.
func (p *part) runStep(s *federation.Step, now time.Time) {
	if p.state == federation.Suspended {
		s.State = federation.Suspended
		s.Suspended += max(now.Sub(p.suspension.At), 0)
	}
	s.Elapsed = time.Duration(max(now.Unix()-s.Start.Unix(), 0))*time.Second - s.Suspended.Truncate(time.Second)
	s.Elapsed = max(s.Elapsed, 0)
}

func fillUsage(w *wire.DBJob, u *federation.Usage, name string) {
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
	w.DerivedExitCode = exitCode(derived)
}

// withoutEnergy leaves out energy, which Slurm counts among what was given, as -2 joules.
func withoutEnergy(list []federation.Amount) wire.List[wire.TRES] {
	return amounts(slices.DeleteFunc(slices.Clone(list), func(a federation.Amount) bool { return a.Type == "energy" }))
}

func stepRecord(s *federation.Step, name string) wire.DBStep {
	var st wire.DBStep
	st.Step.ID, st.Step.Name, st.State, st.ExitCode = wire.Text(name+"."+s.ID), s.Name, wire.Strings{string(dbState(s.State))}, exitCode(s.ExitStatus)
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

func tresRecord(a federation.Amount) wire.TRES {
	return wire.TRES{Type: a.Type, Name: a.Name, ID: tresIDs[a.Type], Count: a.Count}
}

func amounts(list []federation.Amount) wire.List[wire.TRES] {
	var out wire.List[wire.TRES]
	for _, a := range list {
		out = append(out, tresRecord(a))
	}
	return out
}

func measured(m *federation.Measured) wire.StepUsage {
	tasks := func(list []federation.TaskAmount) (out wire.List[wire.TaskTRES]) {
		for _, a := range list {
			out = append(out, wire.TaskTRES{TRES: tresRecord(a.Amount), Task: a.Task, Node: a.Node})
		}
		return out
	}
	return wire.StepUsage{Max: tasks(m.Max), Min: tasks(m.Min), Average: amounts(m.Average), Total: amounts(m.Total)}
}
