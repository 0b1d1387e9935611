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
	selectOperations = "SELECT id, at, data, ended, told FROM (SELECT * FROM operations WHERE ended = 0 OR NOT $1 ORDER BY id DESC LIMIT $2) AS newest ORDER BY id"
	selectOperation  = "SELECT data FROM operations WHERE id = $1"
	updateOperation  = "UPDATE operations SET data = $1 WHERE id = $2"
	countItems       = "SELECT COUNT(*), COALESCE(SUM(CASE WHEN settled > 0 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN failed THEN 1 ELSE 0 END), 0) FROM operation_jobs WHERE op = $1"

	endOperation    = "UPDATE operations SET ended = $1 WHERE id = $2"
	tellOperation   = "UPDATE operations SET told = $1 WHERE id = $2"
	deleteOperation = "DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE ended > 0 AND ended < $1 LIMIT $2)"

	itemColumns   = "n, job_id, tasks, site, restarts, seq, asked, settled, failed, note"
	insertItem    = "INSERT INTO operation_jobs (op, " + itemColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
	selectItems   = "SELECT " + itemColumns + " FROM operation_jobs WHERE op = $1 ORDER BY n"
	selectSettled = "SELECT " + itemColumns + " FROM operation_jobs WHERE op = $1 AND settled > $2 ORDER BY settled LIMIT $3"
	askItem       = "UPDATE operation_jobs SET seq = $1, asked = $2 WHERE op = $3 AND n = $4 AND seq = 0 AND settled = 0"
	settleItem    = "UPDATE operation_jobs SET settled = $1, failed = $2, note = $3 WHERE op = $4 AND n = $5"
)

// operationRecord is what of an operation has no column.
type operationRecord struct {
	By          audit.Actor        `json:"by"`
	Operator    bool               `json:"operator,omitempty"`
	Coordinates bool               `json:"coordinates,omitempty"`
	Verb        action.Kind        `json:"verb"`
	Command     string             `json:"command"`
	Change      []sbatch.Change    `json:"change,omitempty"`
	Move        *action.Relocation `json:"move,omitempty"`
	Why         string             `json:"why,omitempty"`
	Ticket      string             `json:"ticket,omitempty"`
	Rest        []federation.JobID `json:"rest,omitempty"`  // first and last of each range
	Count       *itemCount         `json:"count,omitempty"` // nil: version 0.4 has written it, and its items are counted
}

// itemCount is how many items an operation has, which would take long to count.
type itemCount struct{ Items, Settled, Failed int }

func (c *itemCount) add(items []action.OperationItem) {
	for i := range items {
		if items[i].Settled > 0 {
			c.Settled++
		}
		if items[i].Failed {
			c.Failed++
		}
	}
}

// rangesOf are the first and the last of each range of rising numbers.
func rangesOf(ids []federation.JobID) (ranges []federation.JobID) {
	for i, id := range ids {
		if i == 0 || id != ids[i-1]+1 {
			ranges = append(ranges, id, id)
		}
		ranges[len(ranges)-1] = id
	}
	return ranges
}

func ofRanges(ranges []federation.JobID) (ids []federation.JobID) {
	for i := 0; i+1 < len(ranges); i += 2 {
		for id := ranges[i]; id <= ranges[i+1]; id++ {
			ids = append(ids, id)
		}
	}
	return ids
}

// AddOperation implements [action.OperationStore].
func (s *operations) AddOperation(ctx context.Context, op *action.Operation, items []action.OperationItem, entries ...audit.Entry) error {
	count := itemCount{Items: len(items)}
	count.add(items)
	data, err := encode(operationRecord{op.By, op.Operator, op.Coordinates, op.Verb, op.Command, op.Change, op.Move, op.Why, op.Ticket, rangesOf(op.Rest), &count})
	if err != nil {
		return fmt.Errorf("add operation: %w", err)
	}
	rows, err := itemRows(items, 0)
	if err != nil {
		return fmt.Errorf("add operation: %w", err)
	}
	var id int64
	err = s.writer.submit(ctx, func(t *tx) (err error) {
		if id, _, err = t.number(insertOperation, nanos(op.At), data); err != nil {
			return err
		}
		if err := t.addItems(id, rows); err != nil {
			return err
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
	op.ID, op.Jobs = action.OperationID(id), len(items)+len(op.Rest)
	return nil
}

// itemRows are the values of new items, of which so many are there before. They lack the operation's number.
func itemRows(items []action.OperationItem, before int) ([][]any, error) {
	rows := make([][]any, len(items))
	for i := range items {
		v := &items[i]
		v.N = before + i + 1
		tasks, err := encode(v.Tasks)
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", v.Job, err)
		}
		rows[i] = []any{nil, int64(v.N), int64(v.Job), tasks, string(v.Site), int64(v.Restarts), v.Seq, nanos(v.Asked), int64(v.Settled), v.Failed, v.Note}
	}
	return rows, nil
}

func (t *tx) addItems(op int64, rows [][]any) error {
	for _, args := range rows {
		args[0] = op
		if _, err := t.exec(insertItem, args...); err != nil {
			return err
		}
	}
	return nil
}

// editOperation changes what of an operation has no column. One that is gone is left alone.
func (t *tx) editOperation(id action.OperationID, edit func(*operationRecord) error) error {
	var v *operationRecord
	if err := t.each(func(r *row) { v = new(operationRecord); r.json(v) }, selectOperation, int64(id)); err != nil || v == nil {
		return err
	}
	if err := edit(v); err != nil {
		return err
	}
	data, err := encode(v)
	if err == nil {
		_, err = t.exec(updateOperation, data, int64(id))
	}
	return err
}

// AddItems implements [action.OperationStore].
func (s *operations) AddItems(ctx context.Context, id action.OperationID, items []action.OperationItem) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		return t.editOperation(id, func(v *operationRecord) error {
			rest := ofRanges(v.Rest)
			if v.Count == nil || len(items) > len(rest) || len(items) > 0 && (items[0].Job != rest[0] || items[len(items)-1].Job != rest[len(items)-1]) {
				return federation.ErrConflict
			}
			rows, err := itemRows(items, v.Count.Items)
			if err != nil {
				return err
			}
			v.Rest, v.Count.Items = rangesOf(rest[len(items):]), v.Count.Items+len(items)
			v.Count.add(items)
			return t.addItems(int64(id), rows)
		})
	})
	if err != nil {
		return fmt.Errorf("operation %d: add jobs: %w", id, err)
	}
	return nil
}

// Operations implements [action.OperationStore].
func (s *operations) Operations(ctx context.Context, open bool, limit int) ([]action.Operation, error) {
	type operation struct {
		action.Operation
		counted bool
	}
	found, err := query(ctx, s.readers, func(r *row) (op operation) {
		op.Operation, op.counted = readOperation(r)
		return op
	}, selectOperations, open, int64(limit))
	var all []action.Operation
	for i := range found {
		op := &found[i].Operation
		if err == nil && !found[i].counted {
			err = queryInto(ctx, s.readers, func(r *row) { op.Jobs, op.Settled, op.Failed = int(r.int()), int(r.int()), int(r.int()) }, countItems, int64(op.ID))
		}
		all = append(all, *op)
	}
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	return all, nil
}

// readOperation reads an operation, and reports whether its jobs are counted.
func readOperation(r *row) (op action.Operation, counted bool) {
	op.ID, op.At = action.OperationID(r.int()), r.time()
	var v operationRecord
	r.json(&v)
	op.By, op.Operator, op.Coordinates, op.Verb, op.Command, op.Change, op.Move, op.Why, op.Ticket = v.By, v.Operator, v.Coordinates, v.Verb, v.Command, v.Change, v.Move, v.Why, v.Ticket
	op.Ended, op.Told = r.time(), r.time()
	if op.Rest = ofRanges(v.Rest); v.Count == nil {
		return op, false
	}
	op.Jobs, op.Settled, op.Failed = v.Count.Items+len(op.Rest), v.Count.Settled, v.Count.Failed
	return op, true
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

// SettledItems implements [action.OperationStore].
func (s *operations) SettledItems(ctx context.Context, id action.OperationID, after, limit int) ([]action.OperationItem, error) {
	all, err := query(ctx, s.readers, readItem, selectSettled, int64(id), int64(after), int64(limit))
	if err != nil {
		return nil, fmt.Errorf("settled jobs of operation %d: %w", id, err)
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
		err := t.editOperation(id, func(r *operationRecord) error {
			if r.Count != nil {
				r.Count.add(items)
			}
			return nil
		})
		if err != nil || ended.IsZero() {
			return err
		}
		_, err = t.exec(endOperation, nanos(ended), int64(id))
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
