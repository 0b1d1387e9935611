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

// suits reports whether reading all the jobs there are is less work than reading n of them one by one: a call costs about as much as four jobs.
func (b *bulk) suits(n, all int) bool {
	most := b.most.Load()
	return n > 20 && n*4 > all && (most == 0 || int64(all) <= most)
}

// bulkOf reads all jobs, of which there are so many. Where that takes longer than there is time for, half as many at most are read so
// from then on: a busy slurmrestd would begin anew each time (14 kB a job), and what is read one by one until the time is over is not lost.
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
