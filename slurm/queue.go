package slurm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/slurm/wire"
)

// queue reads the jobs that slurmctld holds.
type queue struct {
	*site
	rights *rights
	rows   list[wire.JobStateRow, row]
	bulk   bulk

	mu      sync.Mutex
	recent  recentJobs // of a site without /jobs/state/: the last answer about all jobs
	cluster string     // the site's name for itself, where not every answer tells it
}

func newQueue(at *site, r *rights) *queue {
	return &queue{site: at, rights: r, rows: list[wire.JobStateRow, row]{op: "states", path: wire.PathJobsState, key: "jobs"}}
}

// states reads /jobs/state/, of all jobs or of some.
func (q *queue) states(ctx context.Context, ids string) ([]row, error) {
	var a wire.JobsStateResponse
	from := &q.rows
	if ids != "" {
		from = &list[wire.JobStateRow, row]{op: from.op, path: from.path, key: from.key, query: url.Values{"job_id": {ids}}}
	}
	return from.get(ctx, q.site, asked[wire.JobStateRow, row]{into: &a, found: func() []wire.JobStateRow { return a.Jobs }, read: readRow,
		finish: func(rows []row) []row {
			return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.id == 0 })
		}})
}

// withDetails asks for all that is known of jobs. Without LOCAL slurmrestd first asks the controller, by another call, whether the site
// belongs to a federation of Slurm's own.
var withDetails = url.Values{"flags": {"ALL", "DETAIL", "LOCAL"}}

// allJobs reads /jobs/: 8 kB and 0.7 ms of the controller's time for each job there is.
func (q *queue) allJobs(ctx context.Context) ([]wire.Job, error) {
	return q.readJobs(ctx, request{op: "jobs", method: http.MethodGet, path: wire.PathJobs, query: q.c.jobFlags()})
}

// jobFlags are withDetails, where the API version knows them.
func (c *client) jobFlags() url.Values {
	if tr := c.api.Load(); tr == nil || tr.old {
		return nil
	}
	return withDetails
}

func (q *queue) readJobs(ctx context.Context, r request) ([]wire.Job, error) {
	var a wire.JobsResponse
	if err := q.c.do(ctx, r, &a); err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		return nil, fmt.Errorf("site %s: jobs: %w", q.cfg.Name, slurmError(federation.ErrUnavailable, a.Errors[0], ""))
	}
	q.remark(&a.Reply)
	return a.Jobs, nil
}

// job reads the records of one job or array; ErrNotFound if the controller answers that it has none.
func (q *queue) job(ctx context.Context, id int64) ([]wire.Job, error) {
	var a wire.JobsResponse
	err := q.c.do(ctx, request{op: "job", method: http.MethodGet, path: wire.PathJob + strconv.FormatInt(id, 10), query: q.c.jobFlags()}, &a)
	if err != nil {
		return nil, err
	}
	if len(a.Errors) > 0 {
		kind := federation.ErrUnavailable
		if a.Errors[0].Number == wire.ErrJobID {
			kind = federation.ErrNotFound
		}
		return nil, fmt.Errorf("site %s: job %d: %w", q.cfg.Name, id, slurmError(kind, a.Errors[0], ""))
	}
	if len(a.Jobs) == 0 { // an empty list proves nothing
		return nil, fmt.Errorf("site %s: job %d: %w: an empty answer", q.cfg.Name, id, federation.ErrUnavailable)
	}
	return a.Jobs, nil
}

// runningRecords asks for the records of running jobs one by one, or for all there are if that is less work. What there is no time for until then is left unread.
func (q *queue) runningRecords(ctx context.Context, ids []int64, total int, until time.Time) (records []wire.Job, unread []int64, err error) {
	// What must be read whole gains nothing by being read in parts, and would never end that way.
	if q.bulk.suits(len(ids), total) || until.Equal(never) && lessWork(len(ids), total) {
		all, err := q.bulkOf(ctx, total)
		if err != nil {
			return nil, nil, err
		}
		wanted := map[int64]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		return slices.DeleteFunc(all, func(j wire.Job) bool { return !wanted[j.JobID] }), nil, nil
	}
	return q.oneByOne(ctx, ids, until)
}

func (q *queue) oneByOne(ctx context.Context, ids []int64, until time.Time) (out []wire.Job, unread []int64, err error) {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, id := range ids {
		if i >= notEndedMost && time.Now().After(until) {
			unread = ids[i:]
			break
		}
		g.Go(func() error {
			records, err := q.job(ctx, id)
			if errors.Is(err, federation.ErrNotFound) {
				return nil // ended meanwhile; or an ID that slurmrestd refuses, of a job of Slurm's own federation
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records { // the number of an array names all its tasks
				if r.JobID == id {
					out = append(out, r)
				}
			}
			return err
		})
	}
	return out, unread, g.Wait()
}
