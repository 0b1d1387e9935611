package controller

import (
	"errors"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/health"
	"fsub/federation/journal"
	"fsub/federation/predict"
)

// unwritable reports whether a batch can never be written, however often it is tried: something in it is at fault, and not the store.
func unwritable(err error) bool {
	return errors.Is(err, federation.ErrNotFound) || errors.Is(err, federation.ErrConflict) || errors.Is(err, federation.ErrInvalid)
}

// unit is what of a batch is written together or not at all: all that is of one job, its array or its components; or one record of nothing of the kind.
type unit struct {
	job federation.JobID // 0: none
	journal.Batch
}

// unitsOf divides a batch into its units. root tells with which job another is written, asked whose a request was.
func unitsOf(b *journal.Batch, root func(federation.JobID) federation.JobID, asked func(seq int64) federation.JobID) []*unit {
	var all []*unit
	byJob := map[federation.JobID]*unit{}
	of := func(id federation.JobID) *unit {
		if id = root(id); byJob[id] == nil || id == 0 {
			byJob[id] = &unit{job: id}
			all = append(all, byJob[id])
		}
		return byJob[id]
	}
	each(b.Create, func(j *federation.Job) { u := of(j.ID); u.Create = append(u.Create, j) })
	each(b.Jobs, func(j *federation.Job) { u := of(j.ID); u.Jobs = append(u.Jobs, j) })
	each(b.Specs, func(j *federation.Job) { u := of(j.ID); u.Specs = append(u.Specs, j) })
	each(b.Attempts, func(a *federation.Attempt) { u := of(a.Job); u.Attempts = append(u.Attempts, a) })
	each(b.Tasks, func(t *federation.Task) { u := of(t.Job); u.Tasks = append(u.Tasks, t) })
	each(b.Events, func(e federation.Event) { u := of(e.Job); u.Events = append(u.Events, e) })
	each(b.Charges, func(k federation.Charge) { u := of(k.Job); u.Charges = append(u.Charges, k) })
	each(b.Requests, func(r action.Request) { u := of(r.Job); u.Requests = append(u.Requests, r) })
	each(b.Done, func(seq int64) { u := of(asked(seq)); u.Done = append(u.Done, seq) })
	each(b.Moves, func(m journal.Move) { u := of(m.Job); u.Moves = append(u.Moves, m) })
	alone := func(one journal.Batch) { all = append(all, &unit{Batch: one}) }
	each(b.Nodes, func(r federation.NodeRecord) { alone(journal.Batch{Nodes: []federation.NodeRecord{r}}) })
	each(b.NodeEvents, func(e federation.NodeEvent) { alone(journal.Batch{NodeEvents: []federation.NodeEvent{e}}) })
	each(b.SiteEvents, func(e federation.SiteEvent) { alone(journal.Batch{SiteEvents: []federation.SiteEvent{e}}) })
	each(b.Audit, func(e audit.Entry) { alone(journal.Batch{Audit: []audit.Entry{e}}) })
	each(b.Health, func(r health.Record) { alone(journal.Batch{Health: []health.Record{r}}) })
	each(b.Findings, func(f health.PastFinding) { alone(journal.Batch{Findings: []health.PastFinding{f}}) })
	each(b.Lengths, func(l predict.RunLength) { alone(journal.Batch{Lengths: []predict.RunLength{l}}) })
	each(b.Waits, func(w predict.PastWait) { alone(journal.Batch{Waits: []predict.PastWait{w}}) })
	return all
}

func each[T any](all []T, do func(T)) {
	for _, one := range all {
		do(one)
	}
}

// together joins units to a batch again.
func together(units []*unit) *journal.Batch {
	b := new(journal.Batch)
	for _, u := range units {
		b.Create = append(b.Create, u.Create...)
		b.Jobs = append(b.Jobs, u.Jobs...)
		b.Specs = append(b.Specs, u.Specs...)
		b.Attempts = append(b.Attempts, u.Attempts...)
		b.Tasks = append(b.Tasks, u.Tasks...)
		b.Events = append(b.Events, u.Events...)
		b.Charges = append(b.Charges, u.Charges...)
		b.Requests = append(b.Requests, u.Requests...)
		b.Done = append(b.Done, u.Done...)
		b.Moves = append(b.Moves, u.Moves...)
		b.Nodes = append(b.Nodes, u.Nodes...)
		b.NodeEvents = append(b.NodeEvents, u.NodeEvents...)
		b.SiteEvents = append(b.SiteEvents, u.SiteEvents...)
		b.Audit = append(b.Audit, u.Audit...)
		b.Health = append(b.Health, u.Health...)
		b.Findings = append(b.Findings, u.Findings...)
		b.Lengths = append(b.Lengths, u.Lengths...)
		b.Waits = append(b.Waits, u.Waits...)
	}
	return b
}
