package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/sbatch"
)

var _ action.OperationStore = (*Store)(nil)

const (
	insertOperation  = "INSERT INTO operations (at, data, ended, told) VALUES ($1, $2, 0, 0) RETURNING id"
	selectOperations = "SELECT id, at, data, ended, told, (SELECT COUNT(*) FROM operation_jobs WHERE op = id), " +
		"(SELECT COUNT(*) FROM operation_jobs WHERE op = id AND settled > 0), (SELECT COUNT(*) FROM operation_jobs WHERE op = id AND failed) " +
		"FROM (SELECT * FROM operations WHERE ended = 0 OR NOT $1 ORDER BY id DESC LIMIT $2) AS newest ORDER BY id"
	endOperation    = "UPDATE operations SET ended = $1 WHERE id = $2"
	tellOperation   = "UPDATE operations SET told = $1 WHERE id = $2"
	deleteOperation = "DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE ended > 0 AND ended < $1 LIMIT $2)"

	itemColumns = "n, job_id, tasks, site, restarts, seq, asked, settled, failed, note"
	insertItem  = "INSERT INTO operation_jobs (op, " + itemColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
	selectItems = "SELECT " + itemColumns + " FROM operation_jobs WHERE op = $1 ORDER BY n"
	askItem     = "UPDATE operation_jobs SET seq = $1, asked = $2 WHERE op = $3 AND n = $4 AND seq = 0 AND settled = 0"
	settleItem  = "UPDATE operation_jobs SET settled = $1, failed = $2, note = $3 WHERE op = $4 AND n = $5"
)

// operationRecord is what of an operation never changes.
type operationRecord struct {
	By       audit.Actor        `json:"by"`
	Operator bool               `json:"operator,omitempty"`
	Verb     action.Kind        `json:"verb"`
	Command  string             `json:"command"`
	Change   []sbatch.Change    `json:"change,omitempty"`
	Move     *action.Relocation `json:"move,omitempty"`
	Why      string             `json:"why,omitempty"`
	Ticket   string             `json:"ticket,omitempty"`
}

// AddOperation implements [action.OperationStore].
func (s *operations) AddOperation(ctx context.Context, op *action.Operation, items []action.OperationItem, entries ...audit.Entry) error {
	data, err := encode(operationRecord{op.By, op.Operator, op.Verb, op.Command, op.Change, op.Move, op.Why, op.Ticket})
	if err != nil {
		return fmt.Errorf("add operation: %w", err)
	}
	rows := make([][]any, len(items))
	for i := range items {
		v := &items[i]
		v.N = i + 1
		tasks, err := encode(v.Tasks)
		if err != nil {
			return fmt.Errorf("add operation: job %d: %w", v.Job, err)
		}
		rows[i] = []any{nil, int64(v.N), int64(v.Job), tasks, string(v.Site), int64(v.Restarts), v.Seq, nanos(v.Asked), int64(v.Settled), v.Failed, v.Note}
	}
	var id int64
	err = s.writer.submit(ctx, func(t *tx) (err error) {
		if id, _, err = t.number(insertOperation, nanos(op.At), data); err != nil {
			return err
		}
		for _, args := range rows {
			args[0] = id
			if _, err := t.exec(insertItem, args...); err != nil {
				return err
			}
		}
		for i := range entries {
			if entries[i].Kind == audit.Operation && entries[i].Object == "" {
				entries[i].Object = fmt.Sprint(id)
			}
		}
		return t.audit(entries)
	})
	if err != nil {
		return fmt.Errorf("add operation: %w", err)
	}
	op.ID, op.Jobs = action.OperationID(id), len(items)
	return nil
}

// Operations implements [action.OperationStore].
func (s *operations) Operations(ctx context.Context, open bool, limit int) ([]action.Operation, error) {
	all, err := query(ctx, s.readers, readOperation, selectOperations, open, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	return all, nil
}

func readOperation(r *row) (op action.Operation) {
	op.ID, op.At = action.OperationID(r.int()), r.time()
	var v operationRecord
	r.json(&v)
	op.By, op.Operator, op.Verb, op.Command, op.Change, op.Move, op.Why, op.Ticket = v.By, v.Operator, v.Verb, v.Command, v.Change, v.Move, v.Why, v.Ticket
	op.Ended, op.Told = r.time(), r.time()
	op.Jobs, op.Settled, op.Failed = int(r.int()), int(r.int()), int(r.int())
	return op
}

// OperationItems implements [action.OperationStore].
func (s *operations) OperationItems(ctx context.Context, id action.OperationID) ([]action.OperationItem, error) {
	all, err := query(ctx, s.readers, readItem, selectItems, int64(id))
	if err == nil && len(all) == 0 {
		err = federation.ErrNotFound // none is without jobs
	}
	if err != nil {
		return nil, fmt.Errorf("jobs of operation %d: %w", id, err)
	}
	return all, nil
}

func readItem(r *row) (v action.OperationItem) {
	v.N, v.Job = int(r.int()), federation.JobID(r.int())
	r.json(&v.Tasks)
	v.Site, v.Restarts, v.Seq, v.Asked = federation.SiteName(r.word()), int(r.int()), r.int(), r.time()
	v.Settled, v.Failed, v.Note = int(r.int()), r.bool(), r.word()
	return v
}

// AskItems implements [action.OperationStore].
func (s *operations) AskItems(ctx context.Context, id action.OperationID, asks []action.ItemRequest) ([]int64, error) {
	seqs := make([]int64, len(asks))
	rows := make([][]any, len(asks))
	for i := range asks {
		var err error
		if rows[i], err = requestValues(&asks[i].Request); err != nil {
			return nil, fmt.Errorf("operation %d: job %d: %w", id, asks[i].Request.Job, err)
		}
	}
	err := s.writer.submit(ctx, func(t *tx) error {
		for i := range asks {
			a := &asks[i]
			seq, err := t.addRequest(&a.Request, rows[i])
			if err != nil {
				return fmt.Errorf("job %d: %w", a.Request.Job, err)
			}
			n, err := t.exec(askItem, seq, nanos(a.Request.At), int64(id), int64(a.N))
			if err == nil && n == 0 {
				err = federation.ErrConflict
			}
			if err != nil {
				return fmt.Errorf("job %d: %w", a.Request.Job, err)
			}
			if err := t.audit(a.Audit); err != nil {
				return err
			}
			seqs[i] = seq
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("operation %d: %w", id, err)
	}
	return seqs, nil
}

// SettleItems implements [action.OperationStore].
func (s *operations) SettleItems(ctx context.Context, id action.OperationID, items []action.OperationItem, ended time.Time) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		for i := range items {
			v := &items[i]
			if _, err := t.exec(settleItem, int64(v.Settled), v.Failed, v.Note, int64(id), int64(v.N)); err != nil {
				return err
			}
		}
		if ended.IsZero() {
			return nil
		}
		_, err := t.exec(endOperation, nanos(ended), int64(id))
		return err
	})
	if err != nil {
		return fmt.Errorf("operation %d: %w", id, err)
	}
	return nil
}

// OperationTold implements [action.OperationStore].
func (s *operations) OperationTold(ctx context.Context, id action.OperationID, at time.Time) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		n, err := t.exec(tellOperation, nanos(at), int64(id))
		if err == nil && n == 0 {
			err = federation.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("operation %d: %w", id, err)
	}
	return nil
}
