package store

import (
	"context"
	"encoding/json"
	"fmt"

	"fsub/federation"
	"fsub/federation/reports"
)

var _ reports.Store = (*Store)(nil)

const (
	saveReport     = "INSERT OR REPLACE INTO reports (owner, name, definition, made_at, sent_for, sent_at, sent_where, tried_at, tries, error) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
	setReportState = "UPDATE reports SET sent_for = MAX(sent_for, $1), sent_at = $2, sent_where = $3, tried_at = $4, tries = $5, error = $6 WHERE owner = $7 AND name = $8 AND made_at = $9"
	removeReport   = "DELETE FROM reports WHERE owner = $1 AND name = $2"
	selectReports  = "SELECT definition, sent_for, sent_at, sent_where, tried_at, tries, error FROM reports ORDER BY owner, name"
)

// SavedReports implements [reports.Store].
func (s *savedReports) SavedReports(ctx context.Context) ([]reports.Saved, error) {
	all, err := query(ctx, s.readers, func(r *row) (one reports.Saved) {
		r.json(&one.Definition)
		one.For, one.Sent, one.Where, one.Tried, one.Tries, one.Error = r.time(), r.time(), r.text(), r.time(), int(r.int()), r.text()
		return one
	}, selectReports)
	if err != nil {
		return nil, fmt.Errorf("saved reports: %w", err)
	}
	return all, nil
}

// SaveReport implements [reports.Store].
func (s *savedReports) SaveReport(ctx context.Context, one *reports.Saved, audit ...federation.AuditEntry) error {
	text, err := json.Marshal(&one.Definition)
	if err != nil {
		return err
	}
	err = s.writer.submit(ctx, func(t *tx) error {
		if _, err := t.exec(saveReport, one.Owner, one.Name, string(text), nanos(one.Made), nanos(one.For), nanos(one.Sent), one.Where, nanos(one.Tried), int64(one.Tries), one.Error); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("save report %s of %s: %w", one.Name, one.Owner, err)
	}
	return nil
}

// SetReportState implements [reports.Store].
func (s *savedReports) SetReportState(ctx context.Context, d *reports.Definition, is reports.State) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		_, err := t.exec(setReportState, nanos(is.For), nanos(is.Sent), is.Where, nanos(is.Tried), int64(is.Tries), is.Error, d.Owner, d.Name, nanos(d.Made))
		return err
	})
	if err != nil {
		return fmt.Errorf("state of report %s of %s: %w", d.Name, d.Owner, err)
	}
	return nil
}

// RemoveReport implements [reports.Store].
func (s *savedReports) RemoveReport(ctx context.Context, owner, name string, audit ...federation.AuditEntry) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		n, err := t.exec(removeReport, owner, name)
		if err == nil && n == 0 {
			err = federation.ErrNotFound
		}
		if err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("remove report %s of %s: %w", name, owner, err)
	}
	return nil
}
