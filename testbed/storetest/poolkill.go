package storetest

import (
	"fmt"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
)

// writePool changes a job and its machine together three times, at last closing both, and takes a number. It prints each when it was
// acknowledged.
func writePool(p records.PoolStore, id federation.JobID, mark string) error {
	for step := 1; step <= 3; step++ {
		if err := p.CommitPool(ctx, "local", poolPair(id, mark, step)); err != nil {
			return err
		}
		fmt.Printf("pool %d %d\n", id, step)
	}
	n, err := p.NextPoolNumber(ctx, "local", records.PoolMachine)
	if err != nil {
		return err
	}
	fmt.Printf("number %d 0\n", n)
	return nil
}

// poolPair leaves the number of the step in both records.
func poolPair(id federation.JobID, mark string, step int) []records.PoolRecord {
	pair := []records.PoolRecord{record(records.PoolJob, mark, id), record(records.PoolMachine, mark, id)}
	for i := range pair {
		pair[i].Data = []byte(fmt.Sprint(step))
		if step == 3 {
			pair[i].Closed = longAgo
		}
	}
	if step == 1 {
		pair[0].Payload = []byte(mark)
	}
	return pair
}

// checkPools makes sure that both records of each pair are there as acknowledged, or both a step further, and that a payload is there
// exactly while its job is open.
func (l *ledger) checkPools(e *env, p records.PoolStore) {
	e.Helper()
	all, err := p.LoadPool(ctx, "local", time.Time{})
	e.must(err)
	jobs := make(map[federation.JobID]records.PoolRecord)
	for _, r := range all {
		if r.Kind == records.PoolJob {
			jobs[r.Job] = r
			continue
		}
		j := jobs[r.Job]
		if string(j.Data) != string(r.Data) || j.Closed != r.Closed || j.ID != r.ID {
			e.Fatalf("half of a pair: the job is %s, its machine %s", j.Data, r.Data)
		}
		if want := fmt.Sprint(l.pools[r.Job]); string(r.Data) < want {
			e.Fatalf("records of job %d are at step %s, step %s was acknowledged", r.Job, r.Data, want)
		}
	}
	if len(jobs) < len(l.pools) || len(all) != 2*len(jobs) {
		e.Fatalf("%d records of %d jobs, %d jobs were acknowledged", len(all), len(jobs), len(l.pools))
	}
	for id, j := range jobs {
		payload, err := p.PoolPayload(ctx, "local", records.PoolJob, j.ID)
		if j.Closed.IsZero() && (err != nil || string(payload) != j.ID) {
			e.Fatalf("payload of job %d is %q, want %q: %v", id, payload, j.ID, err)
		}
		if !j.Closed.IsZero() {
			e.wants(err, federation.ErrNotFound)
		}
	}
	n, err := p.NextPoolNumber(ctx, "local", records.PoolMachine)
	e.must(err)
	if l.numbers[n] {
		e.Fatalf("number %d of a machine was given again", n)
	}
	l.numbers[n] = true
}
