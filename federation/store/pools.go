package store

import (
	"context"
	"fmt"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/journal"
)

var _ records.PoolStore = (*Store)(nil)

const (
	upsertPool = "INSERT INTO pool_records (seq, site, kind, id, job_id, closed, data) VALUES ($1, $2, $3, $4, $5, $6, $7) " +
		"ON CONFLICT (site, kind, id) DO UPDATE SET (job_id, closed, data) = (excluded.job_id, excluded.closed, excluded.data)"
	thatPool          = "(SELECT seq FROM pool_records WHERE site = $1 AND kind = $2 AND id = $3)"
	upsertPoolPayload = "INSERT INTO pool_payloads (record, payload) VALUES (" + thatPool + ", $4) " +
		"ON CONFLICT (record) DO UPDATE SET payload = excluded.payload"
	deletePoolPayload = "DELETE FROM pool_payloads WHERE record = " + thatPool
	nextPoolNumber    = "INSERT INTO pool_numbers (site, kind, last) VALUES ($1, $2, 1) " +
		"ON CONFLICT (site, kind) DO UPDATE SET last = pool_numbers.last + 1 RETURNING last"

	poolColumns = "site, kind, id, job_id, closed, data"
	selectPool  = "SELECT " + poolColumns + " FROM pool_records "
	// Sub-selects, because an OR of the two would be answered by reading all that was ever closed.
	loadPool = selectPool + "WHERE seq IN (SELECT seq FROM pool_records WHERE site = $1 AND closed = 0 " +
		"UNION ALL SELECT seq FROM pool_records WHERE site = $1 AND closed <> 0 AND closed >= $2) ORDER BY seq"
	poolOfJob   = selectPool + "WHERE job_id = $1 AND site = $2 AND kind = $3 ORDER BY seq"
	poolHistory = selectPool + "WHERE seq IN (SELECT seq FROM pool_records WHERE ($1 = '' OR site = $1) AND kind = $2 AND closed = 0 " +
		"UNION ALL SELECT seq FROM pool_records WHERE ($1 = '' OR site = $1) AND kind = $2 AND closed <> 0 AND closed >= $3) " +
		"ORDER BY seq DESC LIMIT $4"

	// A record of an attempt that the federation does not know to have ended is still needed.
	// Machines stay forever.
	deleteClosedPool = "DELETE FROM pool_records WHERE seq IN (SELECT seq FROM pool_records WHERE closed <> 0 AND closed < $1 AND kind <> 'machine' " +
		"AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.attempt_key = pool_records.id AND attempts.live) ORDER BY closed LIMIT $2)"
)

// CommitPool implements [records.PoolStore]. ErrInvalid: a record has no kind or ID, or names another site.
func (s *pools) CommitPool(ctx context.Context, site federation.SiteName, put []records.PoolRecord) error {
	for i := range put {
		if r := &put[i]; r.Kind == "" || r.ID == "" || r.Site != "" && r.Site != site {
			return fmt.Errorf("%w: commit pool of %s: record %q %q of site %q: it must have a kind and an ID, and be of this site",
				federation.ErrInvalid, site, r.Kind, r.ID, r.Site)
		}
	}
	if len(put) == 0 {
		return nil
	}
	err := s.writer.submit(ctx, func(t *tx) error {
		for i := range put {
			if err := t.putPool(string(site), &put[i]); err != nil {
				return fmt.Errorf("%s %s: %w", put[i].Kind, put[i].ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("commit pool of %s: %w", site, err)
	}
	return nil
}

func (t *tx) putPool(site string, r *records.PoolRecord) error {
	data := r.Data
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	seq, err := t.next(&t.poolSeq, poolSeqs)
	if err != nil {
		return err
	}
	t.note(journal.Change{Kind: journal.ChangePool, Job: r.Job, Site: federation.SiteName(site), State: string(r.Kind) + " " + r.ID})
	_, err = t.exec(upsertPool, seq, site, string(r.Kind), r.ID, int64(r.Job), nanos(r.Closed), data)
	switch {
	case err != nil:
	case !r.Closed.IsZero():
		_, err = t.exec(deletePoolPayload, site, string(r.Kind), r.ID)
	case r.Payload != nil:
		_, err = t.exec(upsertPoolPayload, site, string(r.Kind), r.ID, r.Payload)
	}
	return err
}

func readPool(r *row) (p records.PoolRecord) {
	p.Site = federation.SiteName(r.word())
	p.Kind = records.PoolKind(r.word())
	p.ID = r.text()
	p.Job = federation.JobID(r.int())
	p.Closed = r.time()
	p.Data = r.bytes()
	return p
}

// LoadPool implements [records.PoolStore].
func (s *pools) LoadPool(ctx context.Context, site federation.SiteName, since time.Time) ([]records.PoolRecord, error) {
	return s.poolRecords(ctx, loadPool, string(site), nanos(since))
}

// PoolRecords implements [records.PoolStore].
func (s *pools) PoolRecords(ctx context.Context, site federation.SiteName, kind records.PoolKind, job federation.JobID) ([]records.PoolRecord, error) {
	return s.poolRecords(ctx, poolOfJob, int64(job), string(site), string(kind))
}

// PoolHistory implements [records.PoolStore]. The newest is the one first written last.
func (s *pools) PoolHistory(ctx context.Context, site federation.SiteName, kind records.PoolKind, since time.Time, limit int) ([]records.PoolRecord, error) {
	return s.poolRecords(ctx, poolHistory, string(site), string(kind), nanos(since), int64(max(limit, 0)))
}

func (s *pools) poolRecords(ctx context.Context, text string, args ...any) ([]records.PoolRecord, error) {
	all, err := query(ctx, s.readers, readPool, text, args...)
	if err != nil {
		return nil, fmt.Errorf("records of pools: %w", err)
	}
	return all, nil
}

// PoolPayload implements [records.PoolStore].
func (s *pools) PoolPayload(ctx context.Context, site federation.SiteName, kind records.PoolKind, id string) ([]byte, error) {
	found, err := query(ctx, s.readers, (*row).bytes, "SELECT payload FROM pool_payloads WHERE record = "+thatPool, string(site), string(kind), id)
	if err == nil && len(found) == 0 {
		err = federation.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("payload of %s %s of %s: %w", kind, id, site, err)
	}
	return found[0], nil
}

// NextPoolNumber implements [records.PoolStore].
func (s *pools) NextPoolNumber(ctx context.Context, site federation.SiteName, kind records.PoolKind) (n int64, err error) {
	err = s.writer.submit(ctx, func(t *tx) (err error) {
		n, _, err = t.number(nextPoolNumber, string(site), string(kind))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("next number of a %s of %s: %w", kind, site, err)
	}
	return n, nil
}
