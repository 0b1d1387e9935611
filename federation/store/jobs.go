package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/journal"
	"fsub/federation/stored"
	"fsub/sbatch"
)

// updateSpec leaves alone what has a column of its own, but for the name.
const updateSpec = "UPDATE jobs SET (spec, name) = ($1, $2) WHERE id = $3"

// specOf is a job's Spec. A job that only its ID and state matter of may have none.
func specOf(j *federation.Job) sbatch.Spec {
	if j.Spec == nil {
		return sbatch.Spec{}
	}
	return *j.Spec
}

func specValues(j *federation.Job) ([]any, error) {
	spec := specOf(j)
	spec.Array = ""
	text, err := encode(&spec)
	return []any{text, spec.Name, int64(j.ID)}, err
}

const insertPayload = "INSERT INTO payloads (job_id, script, argv, environment) VALUES ($1, $2, $3, $4)"

// CreateJob implements [federation.JobStore]. IDs are given upwards through the range and then from its beginning again.
func (s *jobs) CreateJob(ctx context.Context, j *federation.Job, p *sbatch.Payload) error {
	_, err := s.createOnce(ctx, j, p, "")
	return err
}

// createOnce creates j, unless a job of its user's has the key already: then j gets that job's ID, and again is true.
func (s *jobs) createOnce(ctx context.Context, j *federation.Job, p *sbatch.Payload, key string) (again bool, err error) {
	job := *j
	if job.Spec == nil {
		job.Spec = new(sbatch.Spec)
	}
	job.State = federation.Pending
	if job.Submit.IsZero() {
		job.Submit = time.Now()
	}
	job.Submit = job.Submit.UTC().Round(0)
	// All that can be done outside the writer is.
	values, err := jobValues(&job)
	if err != nil {
		return false, fmt.Errorf("create job: %w", err)
	}
	payload, err := payloadValues(p)
	if err != nil {
		return false, fmt.Errorf("create job: %w", err)
	}
	w := write{user: int64(j.UID), size: sizeOf(values) + sizeOf(payload), ids: 1}
	w.do = func(t *tx) error {
		if again = false; key != "" && (t.shared == nil || t.careful) { // else the key is refused if it is there, and all is done again
			known, err := t.ofKey(job.UID, key)
			if err != nil || known != 0 {
				job.ID, again = known, err == nil
				return err
			}
		}
		if n := len(specOf(&job).Het); n > 0 {
			if err := t.roomFor(n + 1); err != nil {
				return err
			}
		}
		if job.ID, job.Rev, err = t.createJob(values, payload); err != nil {
			return err
		}
		if err := t.submitted(&job, payload, key); err != nil {
			return err
		}
		return t.createComponents(&job)
	}
	if err = s.writer.put(ctx, &w); err != nil {
		return false, fmt.Errorf("create job: %w", err)
	}
	if again {
		j.ID = job.ID
		return true, nil
	}
	*j = job
	s.acknowledged.add(j)
	return false, nil
}

// createJob sets the ID and Rev in values and stores the job.
func (t *tx) createJob(values, payload []any) (federation.JobID, int64, error) {
	id, rev, err := t.insertJob(values)
	if err != nil {
		return 0, 0, err
	}
	payload[0] = int64(id)
	if err := t.later(nil, insertPayload, payload...); err != nil {
		return 0, 0, err
	}
	t.note(journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: id, State: string(federation.Pending)})
	return id, rev, nil
}

// insertJob stores the job under the next free ID.
func (t *tx) insertJob(values []any) (id federation.JobID, rev int64, err error) {
	if t.shared == nil {
		t.rev++
		id, rev = t.nextJob, t.rev
	} else {
		d, err := t.shared.job(t)
		if err != nil {
			return 0, 0, err
		}
		id, rev = d.id, d.rev
	}
	values[0], values[1] = int64(id), rev
	if t.shared != nil && !t.careful { // an ID that a job has fails all of the group, who then are done again, carefully
		return id, rev, t.later(nil, insertNewJob, values...)
	}
	searched := false
	for {
		rows, err := t.exec(insertJob, values...)
		if err != nil {
			return 0, 0, err
		}
		if rows == 1 {
			break
		}
		t.nextJob, searched = id, true
		if id, err = t.freeID(); err != nil {
			return 0, 0, err
		}
		values[0] = int64(id)
	}
	switch {
	case t.shared == nil:
		t.goOn(id)
	case searched:
		err = t.goOnAfter(id)
	}
	return id, rev, err
}

// goOn has the search for the next free ID begin after one.
func (t *tx) goOn(id federation.JobID) {
	if t.nextJob = id + 1; id == t.last {
		t.nextJob = t.first
	}
}

// ReserveIDs implements [federation.JobStore].
func (s *jobs) ReserveIDs(ctx context.Context, n int) (ids []federation.JobID, err error) {
	err = s.writer.submit(ctx, func(t *tx) (err error) {
		if t.shared != nil {
			ids, err = t.shared.reserve(t, n)
			return err
		}
		ids = make([]federation.JobID, 0, n)
		for len(ids) < n {
			more, err := t.freeRun(n - len(ids))
			if err != nil {
				return err
			}
			for _, id := range more {
				if len(ids) > 0 && id == ids[0] { // once through all that is free
					return fmt.Errorf("%w: only %d job IDs are free", federation.ErrConflict, len(ids))
				}
				ids = append(ids, id)
			}
			t.goOn(ids[len(ids)-1])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reserve %d job IDs: %w", n, err)
	}
	return ids, nil
}

// createComponents stores the components of a heterogeneous job under the IDs that follow its own.
func (t *tx) createComponents(leader *federation.Job) error {
	for i := range specOf(leader).Het {
		c := *leader
		spec := leader.Spec.Het[i]
		spec.Het = nil
		c.ID, c.Spec, c.Component = leader.ID+federation.JobID(i)+1, &spec, &federation.HetComponent{Leader: leader.ID, Offset: i + 1}
		values, err := jobValues(&c)
		if err != nil {
			return err
		}
		if c.Rev, err = t.next(&t.rev, revs); err != nil {
			return err
		}
		values[1] = c.Rev
		rows, err := t.exec(insertJob, values...)
		if err == nil && rows == 0 {
			err = federation.ErrConflict
		}
		if err != nil {
			return err
		}
		t.note(journal.Change{Kind: journal.ChangeJob, How: journal.Created, Job: c.ID, State: string(c.State)})
		t.goOn(c.ID)
	}
	return nil
}

// optional is *v as JSON, "" for nil. T has nothing that JSON cannot hold.
func optional[T arrayPart | arrayWhole | stored.Suspension | stored.Holder](v *T) string {
	if v == nil {
		return ""
	}
	text, err := encode(v)
	if err != nil {
		panic(err)
	}
	return text
}

// Job implements [federation.JobStore].
func (s *jobs) Job(ctx context.Context, id federation.JobID) (federation.Job, error) {
	return one(ctx, s.database, s.readJob, id, "SELECT "+jobColumns+" FROM jobs WHERE id = $1")
}

// Payload implements [federation.JobStore].
func (s *jobs) Payload(ctx context.Context, id federation.JobID) (sbatch.Payload, error) {
	return one(ctx, s.database, readPayload, id, "SELECT script, argv, environment FROM payloads WHERE job_id = $1")
}

// one reads the row that a job has exactly one of.
func one[T any](ctx context.Context, s database, read func(*row) T, id federation.JobID, text string) (v T, err error) {
	found, err := query(ctx, s.readers, read, text, int64(id))
	if err == nil && len(found) == 0 {
		err = federation.ErrNotFound
	}
	if err != nil {
		return v, fmt.Errorf("job %d: %w", id, err)
	}
	return found[0], nil
}

// payloadValues leaves room for the job's ID.
func payloadValues(p *sbatch.Payload) ([]any, error) {
	argv, err := joinStrings(p.Argv)
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	environment, err := joinStrings(p.Environment)
	if err != nil {
		return nil, fmt.Errorf("environment: %w", err)
	}
	return []any{nil, append([]byte{}, p.Script...), argv, environment}, nil
}

// sizeOf is about how many bytes some values have.
func sizeOf(values []any) (n int) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

func readPayload(r *row) sbatch.Payload {
	return sbatch.Payload{Script: string(r.bytes()), Argv: splitStrings(r.bytes()), Environment: splitStrings(r.bytes())}
}

// joinStrings ends each string with a NUL, which exec(2) does not let be inside one.
func joinStrings(all []string) ([]byte, error) {
	b := []byte{}
	for _, s := range all {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, fmt.Errorf("%w: %q has a NUL inside", federation.ErrInvalid, s)
		}
		b = append(append(b, s...), 0)
	}
	return b, nil
}

func splitStrings(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(b[:len(b)-1]), "\x00")
}
