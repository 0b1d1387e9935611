package store

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
)

// A million jobs at once would be a gigabyte beside what is made of them. So they are read in pages, by some connections in turns; each has at
// most one page read that nobody has taken.
const (
	livePage    = 4096
	liveReaders = 3
)

const (
	// The last ID of each page but of the last one.
	selectPages = "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM jobs WHERE live) AS numbered WHERE n % $1 = 0 ORDER BY id"
)

var selectPage = "SELECT " + jobColumns + " FROM jobs WHERE live AND id > $1 AND id <= $2 ORDER BY id"

// LiveJobs implements [federation.JobStore].
func (s *jobs) LiveJobs(ctx context.Context, take func([]federation.Job) error) error {
	if err := s.liveJobs(ctx, take); err != nil {
		return fmt.Errorf("read the live jobs: %w", err)
	}
	return nil
}

func (s *jobs) liveJobs(ctx context.Context, take func([]federation.Job) error) error {
	ends, err := query(ctx, s.readers, (*row).int, selectPages, int64(livePage))
	if err != nil {
		return err
	}
	ends = append(ends, 1<<62)
	var pages [liveReaders]chan []federation.Job // page i comes from reader i % liveReaders
	g, ctx := errgroup.WithContext(ctx)
	for r := range pages {
		pages[r] = make(chan []federation.Job)
		g.Go(func() error { return s.readPages(ctx, ends, r, pages[r]) })
	}
	g.Go(func() error {
		for i := range ends {
			select {
			case jobs := <-pages[i%liveReaders]:
				if err := take(jobs); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

// readPages reads every page of one reader. ends are the last IDs of all.
func (s *jobs) readPages(ctx context.Context, ends []int64, reader int, pages chan<- []federation.Job) error {
	for i := reader; i < len(ends); i += liveReaders {
		after := int64(0)
		if i > 0 {
			after = ends[i-1]
		}
		jobs := make([]federation.Job, 0, livePage)
		if err := queryInto(ctx, s.readers, func(r *row) { jobs = append(jobs, s.readJob(r)) }, selectPage, after, ends[i]); err != nil {
			return err
		}
		select {
		case pages <- jobs:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
