package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/health"
	"fsub/federation/journal"
)

const (
	upsertHealth  = "INSERT INTO health (kind, name, data) VALUES ($1, $2, $3) ON CONFLICT (kind, name) DO UPDATE SET data = $3"
	deleteHealth  = "DELETE FROM health WHERE kind = $1 AND name = $2"
	selectHealth  = "SELECT kind, name, data FROM health ORDER BY kind, name"
	findings      = "at, rule, act, site, node, job_id, why, denied"
	insertFinding = "INSERT INTO health_findings (" + findings + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	oldFindings   = "DELETE FROM health_findings WHERE seq IN (SELECT seq FROM health_findings WHERE at < $1 LIMIT $2)"
)

// healthSteps are what writes the health records and findings of a batch. What others tell the controller is a change, and so is a finding.
func healthSteps(b *journal.Batch, steps []step) []step {
	for _, r := range b.Health {
		change := journal.Change{Kind: journal.ChangeHealth, State: string(r.Kind)}
		if r.Data == nil {
			change.How = journal.Gone
			steps = append(steps, step{deleteHealth, []any{string(r.Kind), r.Name}, "health of " + r.Name, 0, change})
			continue
		}
		steps = append(steps, step{upsertHealth, []any{string(r.Kind), r.Name, string(r.Data)}, "health of " + r.Name, 0, change})
	}
	for i := range b.Findings {
		f := &b.Findings[i]
		args := []any{nanos(f.At), f.Rule, f.Act, string(f.Node.Site), f.Node.Name, int64(f.Job), f.Why, f.Denied}
		steps = append(steps, step{insertFinding, args, "finding of " + f.Rule, 0, journal.Change{Kind: journal.ChangeFinding, Job: f.Job, Finding: f}})
	}
	return steps
}

// HealthRecords implements [health.Store].
func (s *fleet) HealthRecords(ctx context.Context) ([]health.Record, error) {
	all, err := query(ctx, s.readers, func(r *row) health.Record {
		return health.Record{Kind: health.RecordKind(r.text()), Name: r.text(), Data: []byte(r.text())}
	}, selectHealth)
	if err != nil {
		return nil, fmt.Errorf("read what is known of the health of nodes: %w", err)
	}
	return all, nil
}

// HealthFindings implements [health.Store].
func (s *fleet) HealthFindings(ctx context.Context, q health.FindingQuery) ([]health.KeptFinding, error) {
	var w where
	if q.After > 0 {
		w.and("seq > %s", q.After)
	}
	if q.Before > 0 {
		w.and("seq < %s", q.Before)
	}
	all, err := query(ctx, s.readers, func(r *row) health.KeptFinding {
		return health.KeptFinding{Seq: r.int(), PastFinding: health.PastFinding{At: r.time(), Rule: r.text(), Act: r.text(),
			Node: federation.NodeID{Site: federation.SiteName(r.text()), Name: r.text()}, Job: federation.JobID(r.int()), Why: r.text(), Denied: r.text()}}
	}, inSequence("SELECT seq, "+findings+" FROM health_findings"+w.text(), q.Limit, q.Oldest), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read the findings of health rules: %w", err)
	}
	return all, nil
}
