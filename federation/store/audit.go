package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fsub/federation/audit"
	"fsub/federation/journal"
)

var _ audit.Log = (*Store)(nil)

const (
	auditColumns = "at, who, uid, role, from_where, verb, kind, object, was, is_now, why, ticket, result"
	insertAudit  = "INSERT INTO audit (" + auditColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
	deleteAudit  = "DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < $1 ORDER BY seq LIMIT $2)"
)

// auditSteps are what appends entries to the audit log, as part of a transaction.
func auditSteps(entries []audit.Entry, steps []step) []step {
	for i := range entries {
		e := &entries[i]
		at := e.At
		if at.IsZero() {
			at = time.Now()
		}
		w := &e.Who
		args := []any{nanos(at), w.User, int64(w.UID), w.Role, w.From, e.Verb, string(e.Kind), e.Object, e.Before, e.After, e.Why, e.Ticket, e.Result}
		steps = append(steps, step{insertAudit, args, "audit entry", 0, journal.Change{Kind: journal.ChangeAudit, How: journal.Created, State: e.Verb}})
	}
	return steps
}

// audit appends entries in this transaction.
func (t *tx) audit(entries []audit.Entry) error {
	steps := auditSteps(entries, nil)
	for i := range steps {
		if err := t.step(&steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// AddAudit implements [audit.Log].
func (s *auditLog) AddAudit(ctx context.Context, entries ...audit.Entry) error {
	if err := s.writer.submit(ctx, func(t *tx) error { return t.audit(entries) }); err != nil {
		return fmt.Errorf("append to the audit log: %w", err)
	}
	return nil
}

// Audit implements [audit.Log].
func (s *auditLog) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	var w where
	if q.After > 0 {
		w.and("seq > %s", q.After)
	}
	if q.Before > 0 {
		w.and("seq < %s", q.Before)
	}
	if !q.Since.IsZero() {
		w.and("at >= %s", nanos(q.Since))
	}
	if !q.Until.IsZero() {
		w.and("at < %s", nanos(q.Until))
	}
	for _, c := range []struct{ column, value string }{{"who", q.User}, {"verb", q.Verb}, {"kind", string(q.Kind)}} {
		if c.value != "" {
			w.and(c.column+" = %s", c.value)
		}
	}
	if prefix, ok := strings.CutSuffix(q.Object, "*"); ok {
		w.and("object >= %s", prefix)
		w.and("object < %s", prefix+"\U0010ffff")
	} else if q.Object != "" {
		w.and("object = %s", q.Object)
	}
	all, err := query(ctx, s.readers, readAudit, inSequence("SELECT seq, "+auditColumns+" FROM audit"+w.text(), q.Limit, q.Oldest), w.args...)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return all, nil
}

// inSequence completes a query whose rows have the column seq: at most limit of them, the oldest or the newest; 0: all. They come oldest first.
func inSequence(text string, limit int, oldest bool) string {
	switch {
	case limit <= 0:
		return text + " ORDER BY seq"
	case oldest:
		return fmt.Sprintf("%s ORDER BY seq LIMIT %d", text, limit)
	}
	return fmt.Sprintf("SELECT * FROM (%s ORDER BY seq DESC LIMIT %d) AS newest ORDER BY seq", text, limit)
}

func readAudit(r *row) audit.Entry {
	return audit.Entry{
		Seq: r.int(), At: r.time(), Who: audit.Actor{User: r.word(), UID: uint32(r.int()), Role: r.word(), From: r.word()}, Verb: r.word(),
		Kind: audit.Object(r.word()), Object: r.text(), Before: r.text(), After: r.text(), Why: r.text(), Ticket: r.text(), Result: r.text(),
	}
}
