package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/api/restd"
)

// follow reads all jobs, or those that the log tells of and those whose time has come. Where another daemon leads it goes on page by page: what has come so far stays.
func (q *Queue) follow(ctx context.Context, v *restd.View, now time.Time) error {
	if q.mark.get() == 0 {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.readAll(ctx, v, now, q.cfg().Store.LiveJobs)
	}
	for {
		news, end, err := q.readLog(ctx)
		if err == nil {
			err = q.takeUp(ctx, v, now, &news)
		}
		if end || err != nil {
			return err
		}
	}
}

// readLog reads what the log tells, or a page of it where another daemon leads.
func (q *Queue) readLog(ctx context.Context) (news restd.News, end bool, err error) {
	mark, c := q.mark.get(), q.cfg()
	if !c.Follows {
		news, err = restd.ReadLog(ctx, c.Store, mark)
		return news, true, err
	}
	news = restd.News{Mark: mark, Jobs: map[federation.JobID]bool{}}
	err = q.cfg().bounded(ctx, func(ctx context.Context) error {
		if end, err = restd.ReadPage(ctx, c.Store, &news); err == nil && news.Audited && c.ReadTree != nil {
			err = c.ReadTree(ctx)
		}
		return err
	})
	return news, end, err
}

// atOnce is how many jobs are updated under one hold of the lock, so a batch of up to this size appears all at once. With more, a list made meanwhile may mix new rows with old ones;
// otherwise a plan that changes a million jobs would need them all in memory twice, and every list would wait for the last.
const atOnce = 10_000

// takeUp reads the jobs of which there is news.
func (q *Queue) takeUp(ctx context.Context, v *restd.View, now time.Time, news *restd.News) error {
	changed := news.Jobs
	q.mu.Lock()
	for _, id := range q.overtaken(now) {
		changed[id] = true
	}
	q.mu.Unlock()
	for some := range slices.Chunk(slices.Sorted(maps.Keys(changed)), atOnce) {
		jobs, tasks, err := q.fetch(ctx, some)
		q.mu.Lock()
		if err != nil {
			q.changes = now // what was overtaken is looked for again
			q.mu.Unlock()
			return err
		}
		for i := range jobs {
			q.take(v, &jobs[i], tasks[jobs[i].ID])
			delete(changed, jobs[i].ID)
		}
		for _, id := range some {
			if changed[id] {
				q.drop(id) // deleted
			}
		}
		q.mu.Unlock()
	}
	q.mark.set(news.Mark)
	return nil
}

// fetchAtOnce is how many jobs are read in one question.
const fetchAtOnce = 2000

// fetch reads some jobs, and the tasks of those that are arrays.
func (q *Queue) fetch(ctx context.Context, ids []federation.JobID) (jobs []federation.Job, tasks map[federation.JobID][]federation.Task, err error) {
	tasks = map[federation.JobID][]federation.Task{}
	for some := range slices.Chunk(ids, fetchAtOnce) {
		err := q.cfg().bounded(ctx, func(ctx context.Context) error {
			found, err := q.cfg().Store.Jobs(ctx, federation.JobQuery{IDs: some, Alone: true})
			if err != nil {
				return err
			}
			of, err := q.tasksOf(ctx, found)
			maps.Copy(tasks, of)
			jobs = append(jobs, found...)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return jobs, tasks, nil
}
