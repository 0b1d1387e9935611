package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/records"
)

var _ records.Store = (*Store)(nil)

const (
	putRecord     = "INSERT INTO records (kind, owner, name, value, rev) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (kind, owner, name) DO UPDATE SET value = excluded.value, rev = excluded.rev"
	updateRecord  = "UPDATE records SET value = $1, rev = $2 WHERE kind = $3 AND owner = $4 AND name = $5 AND rev = $6"
	removeRecord  = "DELETE FROM records WHERE kind = $1 AND owner = $2 AND name = $3"
	selectRecords = "SELECT owner, name, value, rev FROM records WHERE kind = $1 AND (owner = $2 OR $2 = '') ORDER BY owner, name"
)

// Records implements [records.Store].
func (s *owned) Records(ctx context.Context, kind, owner string) ([]records.Record, error) {
	all, err := query(ctx, s.readers, func(r *row) records.Record {
		return records.Record{Kind: kind, Owner: r.text(), Name: r.text(), Value: []byte(r.text()), Rev: r.int()}
	}, selectRecords, kind, owner)
	if err != nil {
		return nil, fmt.Errorf("list records of kind %s: %w", kind, err)
	}
	return all, nil
}

// PutRecord implements [records.Store].
func (s *owned) PutRecord(ctx context.Context, r *records.Record, audit ...audit.Entry) error {
	rev := int64(0)
	err := s.writer.submit(ctx, func(t *tx) (err error) {
		if rev, err = t.next(&t.rev, revs); err != nil {
			return err
		}
		if err := t.putRecord(r, rev); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("write %s %s of %s: %w", r.Kind, r.Name, r.Owner, err)
	}
	r.Rev = rev
	return nil
}

func (t *tx) putRecord(r *records.Record, rev int64) error {
	if r.Rev == 0 {
		_, err := t.exec(putRecord, r.Kind, r.Owner, r.Name, string(r.Value), rev)
		return err
	}
	n, err := t.exec(updateRecord, string(r.Value), rev, r.Kind, r.Owner, r.Name, r.Rev)
	if err == nil && n == 0 {
		err = federation.ErrConflict
	}
	return err
}

// RemoveRecord implements [records.Store].
func (s *owned) RemoveRecord(ctx context.Context, kind, owner, name string, audit ...audit.Entry) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		n, err := t.exec(removeRecord, kind, owner, name)
		if err == nil && n == 0 {
			err = federation.ErrNotFound
		}
		if err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("remove %s %s of %s: %w", kind, name, owner, err)
	}
	return nil
}
