package queue

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// By says what counts of jobs tell apart: a set of the fields of [Facts].
type By byte

// The fields.
const (
	ByState By = 1 << iota
	ByReason
	BySite
	ByUser
	ByAccount
	ByGroup
)

// of are the facts of f that are told apart.
func (by By) of(f *Facts) (out Facts) {
	if by&ByState != 0 {
		out.State = f.State
	}
	if by&ByReason != 0 {
		out.Reason = f.Reason
	}
	if by&BySite != 0 {
		out.Site = f.Site
	}
	if by&ByUser != 0 {
		out.User = f.User
	}
	if by&ByAccount != 0 {
		out.Account = f.Account
	}
	if by&ByGroup != 0 {
		out.Group = f.Group
	}
	return out
}

// Count is how many jobs have some facts.
type Count struct {
	Facts       // those that are told apart; the others are empty
	Jobs  int64 // lines of a list of jobs
	Tasks int64 // that these stand for; a job without tasks is one
}

// countView are the counts by some fields. It is made when it is first asked for, and follows each job that comes or goes.
type countView struct {
	by     By
	counts map[Facts]*Count
}

func (v *countView) count(f *Facts, jobs, tasks int64) {
	if n := v.add(f, jobs, tasks); n.Jobs == 0 {
		delete(v.counts, n.Facts)
	}
}

func (v *countView) add(f *Facts, jobs, tasks int64) *Count {
	key := v.by.of(f)
	n := v.counts[key]
	if n == nil {
		n = &Count{Facts: key}
		v.counts[key] = n
	}
	n.Jobs += jobs
	n.Tasks += tasks
	return n
}

// view are the counts by some fields.
func (c *classes) view(by By) *countView {
	for _, v := range c.views {
		if v.by == by {
			return v
		}
	}
	v := &countView{by: by, counts: map[Facts]*Count{}}
	for i := range c.all {
		if x := &c.all[i]; x.jobs > 0 {
			v.count(&x.Facts, x.jobs, x.tasks)
		}
	}
	c.views = append(c.views, v)
	return v
}

// Count counts the jobs whose facts meet a condition on the fields of looks, the most tasks first. It looks at no job, and costs what there is to tell apart.
func (l Lists) Count(ctx context.Context, by, looks By, meets func(*Facts) bool) ([]Count, error) {
	if _, err := l.Queue.age(ctx); err != nil {
		return nil, err
	}
	return l.countRead(by, looks, meets), nil
}

// CountSoon waits for soon for what is new, and its counts are never older than oldest: a database that does not answer must not look like a queue in which nothing happens.
const (
	soon   = 20 * time.Millisecond
	oldest = time.Minute
)

// CountSoon is Count for callers who prefer the counts of a moment ago to waiting: where more is to be read, it counts what has been.
func (l Lists) CountSoon(ctx context.Context, by, looks By, meets func(*Facts) bool) ([]Count, error) {
	brief, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	if _, err := l.Queue.age(brief); err != nil && (!l.Queue.Complete() || l.Queue.Lag() > oldest || brief.Err() == nil) {
		return l.Count(ctx, by, looks, meets)
	}
	return l.countRead(by, looks, meets), nil
}

// countRead counts what has been read.
func (l Lists) countRead(by, looks By, meets func(*Facts) bool) []Count {
	q := l.Queue
	q.mu.Lock()
	defer q.mu.Unlock()
	sum := SumOf(nil, by)
	for f, n := range q.lists.classes.view(by | looks).counts {
		if meets(&f) {
			sum.Add(&f, n.Jobs, n.Tasks)
		}
	}
	return sum.List()
}

// Sum adds up counts.
type Sum struct{ countView }

// SumOf begins with counts that are told apart by some fields.
func SumOf(counts []Count, by By) *Sum {
	s := &Sum{countView{by: by, counts: map[Facts]*Count{}}}
	for i := range counts {
		s.counts[counts[i].Facts] = &counts[i]
	}
	return s
}

// Add adds jobs, and the tasks that these stand for, of some facts.
func (s *Sum) Add(f *Facts, jobs, tasks int64) { s.add(f, jobs, tasks) }

// List are the counts, the most tasks first.
func (s *Sum) List() []Count {
	all := make([]Count, 0, len(s.counts))
	for _, n := range s.counts {
		if n.Jobs != 0 || n.Tasks != 0 {
			all = append(all, *n)
		}
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Tasks, a.Tasks), strings.Compare(string(a.State), string(b.State)), strings.Compare(string(a.Site), string(b.Site)),
			strings.Compare(string(a.Reason), string(b.Reason)), strings.Compare(a.User, b.User), strings.Compare(a.Account, b.Account), strings.Compare(a.Group, b.Group))
	})
	return all
}
