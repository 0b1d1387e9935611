package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/journal"
	"fsub/federation/stored"
)

const (
	insertRequest = "INSERT INTO requests (seq, job_id, tasks, kind, uid, operator, signal, at, change, restarts, move, user_name) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
	deleteRequest = "DELETE FROM requests WHERE seq = $1"
	// A request like the newest that waits of its job is that one, and a second cancel is the first, whatever came between. A job that is
	// asked twice for the same does it once.
	sameRequest = "SELECT seq FROM requests WHERE job_id = $1 AND substr(tasks, 1, 32) = substr($2, 1, 32) AND tasks = $2 AND kind = $3 AND uid = $4 AND operator = $5 AND signal = $6 " +
		"AND change = $7 AND restarts = $8 AND move = $9 AND (kind = 'cancel' OR seq = (SELECT MAX(seq) FROM requests WHERE job_id = $1))"
	requestsOfJob = "SELECT COUNT(*) FROM requests WHERE job_id = $1 AND tasks IN ('null', '[]')"
	selectRequest = "SELECT seq, job_id, tasks, kind, uid, operator, signal, at, change, restarts, move, user_name FROM requests WHERE seq > $1 ORDER BY seq"
)

// AddRequest implements [action.Store]. The store assigns Seq; a zero At becomes now.
// ErrNotFound: there is no such job. ErrConflict: too many wait of it. Numbers increase and are never reused.
func (s *jobs) AddRequest(ctx context.Context, r action.Request, audit ...audit.Entry) (int64, error) {
	args, err := requestValues(&r)
	if err != nil {
		return 0, fmt.Errorf("add request: %w", err)
	}
	var seq int64
	err = s.writer.submitOf(ctx, int64(r.UID), 0, func(t *tx) (err error) {
		if seq, err = t.waiting(&r, args, s.requestsPerJob); err != nil || seq != 0 {
			return err
		}
		if seq, err = t.addRequest(&r, args); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return 0, fmt.Errorf("%s job %d: %w", r.Kind, r.Job, err)
	}
	return seq, nil
}

// waiting is the number of a request that is the same as r, whose values args are, and not done yet; 0: there is none.
func (t *tx) waiting(r *action.Request, args []any, most int64) (int64, error) {
	same, err := t.numbers(sameRequest, args[1], args[2], args[3], args[4], args[5], args[6], args[8], args[9], args[10])
	if err != nil || len(same) > 0 {
		return slices.Max(append(same, 0)), err
	}
	if r.Tasks.Len() > 0 || r.Kind == action.Cancel { // which always finds room: there is one of each caller
		return 0, nil
	}
	n, err := t.numbers(requestsOfJob, args[1])
	if err == nil && n[0] >= most {
		err = fmt.Errorf("%w: %d requests wait to be carried out already", federation.ErrConflict, n[0])
	}
	return 0, err
}

// addRequest adds r, whose values args are, under the next number.
func (t *tx) addRequest(r *action.Request, args []any) (int64, error) {
	seq, err := t.next(&t.requestSeq, requestSeqs)
	if err != nil {
		return 0, err
	}
	args[0] = seq
	t.note(journal.Change{Kind: journal.ChangeRequest, How: journal.Created, Job: r.Job, Number: seq, State: string(r.Kind), Who: fmt.Sprint(r.UID)})
	_, err = t.exec(insertRequest, args...)
	return seq, err
}

// requestValues are what insertRequest wants. The first, the number, is for the transaction to fill in.
func requestValues(r *action.Request) ([]any, error) {
	tasks, err := encode(r.Tasks)
	if err != nil {
		return nil, err
	}
	signal, err := encode(stored.Signal(r.Signal))
	if err != nil {
		return nil, err
	}
	change, err := encode(r.Change)
	if err != nil {
		return nil, err
	}
	move, err := encode(r.Move)
	if err != nil {
		return nil, err
	}
	at := r.At
	if at.IsZero() {
		at = time.Now()
	}
	return []any{nil, int64(r.Job), tasks, string(r.Kind), int64(r.UID), r.Operator, signal, nanos(at), change, int64(r.Restarts), move, r.User}, nil
}

// Requests implements [action.Store].
func (s *jobs) Requests(ctx context.Context, after int64) ([]action.Request, error) {
	all, err := query(ctx, s.readers, readRequest, selectRequest, after)
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	return all, nil
}

func readRequest(r *row) (q action.Request) {
	q.Seq = r.int()
	q.Job = federation.JobID(r.int())
	r.json(&q.Tasks)
	q.Kind = action.Kind(r.text())
	q.UID = uint32(r.int())
	q.Operator = r.bool()
	r.json((*stored.Signal)(&q.Signal))
	q.At = r.time()
	r.json(&q.Change)
	q.Restarts = int(r.int())
	r.json(&q.Move)
	q.User = r.text()
	return q
}
