package slurm

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fsub/slurm/wire"
)

// bulk knows when the details of jobs are better read for all there are, in one answer, than one by one.
type bulk struct {
	most atomic.Int64 // more than these are not read in one answer; 0: nothing is known against it
}

// suits reports whether n of all the jobs there are should be read in one answer: it is less work, and not known to take too long.
func (b *bulk) suits(n, all int) bool {
	most := b.most.Load()
	return lessWork(n, all) && (most == 0 || int64(all) <= most)
}

// lessWork reports whether reading all the jobs there are is less work than reading n of them one by one: a call costs about as much as four jobs.
func lessWork(n, all int) bool { return n > 20 && n*4 > all }

// bulkOf reads all the jobs there are at the site. Where that takes longer than there is time for, at most half as many are read in one answer
// from then on: a busy slurmrestd would start over each time (14 kB a job), and what is read one by one until the time is over is not lost.
func (q *queue) bulkOf(ctx context.Context, all int) ([]wire.Job, error) {
	began := time.Now()
	jobs, err := q.allJobs(ctx)
	most := q.bulk.most.Load()
	switch {
	case err == nil && most > 0 && int64(all)*2 > most:
		q.bulk.most.Store(int64(all) * 2)
	case err != nil && (errors.Is(ctx.Err(), context.DeadlineExceeded) || time.Since(began) >= q.cfg.Timeout):
		q.bulk.most.Store(max(1, int64(all)/2))
	}
	return jobs, err
}
