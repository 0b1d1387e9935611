package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/federation/api/queue"
	v1 "fsub/federation/api/v1"
)

// jobPages lists jobs page by page: those that have not ended in any order, by the queue in memory; with those that have by their IDs, from the store.
type jobPages struct {
	jobs  *operations
	queue queue.Lists
	salt  string // of ETags: another start of a daemon may show the same jobs otherwise
}

func newJobPages(jobs *operations, q *queue.Queue) *jobPages {
	return &jobPages{jobs, queue.Lists{Queue: q}, rand.Text()}
}

// List is GET /fed/v1/jobs.
func (s *jobPages) List(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	page, err := readPageQuery(r)
	if err != nil {
		return err
	}
	var q v1.JobQuery
	if err := v1.ReadQuery(r.URL.Query(), &q); err != nil {
		return answer.BadBody(err.Error())
	}
	fields, err := fieldsOf[v1.JobLine](page.Fields)
	if err != nil {
		return err
	}
	if !page.Paged() && q.Sort == "" {
		return s.jobs.list(w, r, q.Where, fields)
	}
	p, err := s.Page(r.Context(), q, page, r.Header.Get("If-None-Match"))
	if err != nil {
		return err
	}
	return writePage(w, r, p, fields)
}

// Page is one page of the jobs that q chooses. It has no items if its ETag is one of those that the caller has.
func (s *jobPages) Page(ctx context.Context, q v1.JobQuery, page v1.PageQuery, have string) (*v1.Page[v1.JobLine], error) {
	conditions, err := readConditions(q.Where)
	if err != nil {
		return nil, invalidOperation(err.Error())
	}
	mark, err := s.queue.Mark(ctx)
	if err != nil {
		return nil, err
	}
	tag := s.tag(int64(mark), q, page)
	if tag.has(have, s.jobs.Now()) {
		return &v1.Page[v1.JobLine]{AsOf: int64(mark), ETag: tag.last}, nil
	}
	var jobs []federation.Job
	out := &v1.Page[v1.JobLine]{AsOf: int64(mark)}
	if stored := conditionQuery(conditions); stored.Live {
		jobs, err = s.live(ctx, q, page, conditions, out)
	} else {
		jobs, err = s.ended(ctx, q, page, conditions, stored, out)
	}
	if err != nil {
		return nil, err
	}
	clocked := slices.ContainsFunc(conditions, func(c condition) bool { return c.key == "age" || c.key == "gpu" })
	out.Items = lines(jobs, s.jobs.spent(ctx))
	clocked = clocked || slices.ContainsFunc(out.Items, func(l v1.JobLine) bool { return l.Spending != nil })
	out.ETag = tag.of(clocked, s.jobs.Now())
	return out, nil
}

// live is a page of jobs that have not ended.
func (s *jobPages) live(ctx context.Context, q v1.JobQuery, page v1.PageQuery, conditions []condition, out *v1.Page[v1.JobLine]) ([]federation.Job, error) {
	ask := queue.PageQuery{Sort: q.Sort, Limit: page.Size(), After: page.After, Before: page.Before, Only: idsOf(conditions)}
	conditions = withoutAge(conditions, s.jobs.Now(), &ask)
	ask.Choice = s.jobs.choice(conditions)
	p, err := s.queue.Page(&ask)
	if err != nil {
		return nil, answer.BadBody(err.Error())
	}
	out.Prev, out.Next, out.AsOf = p.Prev, p.Next, int64(p.Mark)
	if len(p.IDs) == 0 {
		return nil, nil
	}
	found, err := s.jobs.Store.Jobs(ctx, federation.JobQuery{IDs: p.IDs, Alone: true})
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	at := make(map[federation.JobID]int, len(found))
	for i := range found {
		at[found[i].ID] = i
	}
	jobs := make([]federation.Job, 0, len(found))
	for _, id := range p.IDs {
		i, known := at[id]
		if !known {
			continue // deleted since
		}
		l, _ := queue.ListedOf(&found[i])
		found[i].State = l.State
		jobs = append(jobs, found[i])
	}
	return jobs, nil
}

// withoutAge turns conditions on a job's age into bounds of its submission. It returns the others.
func withoutAge(conditions []condition, now time.Time, ask *queue.PageQuery) (others []condition) {
	for _, c := range conditions {
		switch at := now.Add(-c.age).UnixNano(); {
		case c.key != "age":
			others = append(others, c)
		case c.op == '<':
			ask.Since = max(ask.Since, at)
		case ask.Until == 0 || at < ask.Until:
			ask.Until = at
		}
	}
	return others
}

// Bounds of what is read of the store for one page: a page of a search that finds little is short, and the next goes on.
const (
	searchedAtOnce = 500
	mostSearched   = 10_000
)

// ended is a page of jobs in order of ID, those among them that have ended.
func (s *jobPages) ended(ctx context.Context, q v1.JobQuery, page v1.PageQuery, conditions []condition, stored federation.JobQuery, out *v1.Page[v1.JobLine]) (jobs []federation.Job, err error) {
	if q.Sort != "" && q.Sort != "id" && q.Sort != "-id" {
		return nil, answer.BadBody(fmt.Sprintf("invalid sort %q: jobs that have ended are in order of id only: sort=id, or sort=-id from the newest to the oldest", q.Sort))
	}
	at, err := queue.ReadIDCursor(page.After + page.Before)
	if err != nil {
		return nil, answer.BadBody(err.Error())
	}
	stored.IDs, stored.Limit, stored.Down = idsOf(conditions), searchedAtOnce, (q.Sort == "-id") != (page.Before != "")
	choice, more, size := s.jobs.choice(conditions), true, page.Size()
	for searched := 0; more && searched < mostSearched && len(jobs) < size; searched += searchedAtOnce {
		if stored.Down {
			stored.BeforeID = at
		} else {
			stored.AfterID = at
		}
		found, err := s.jobs.Store.Jobs(ctx, stored)
		if err != nil {
			return nil, answer.OfStore(err, answer.NoContact)
		}
		if more = len(found) == searchedAtOnce; len(found) > 0 {
			at = found[len(found)-1].ID
		}
		jobs = append(jobs, holding(found, choice)...)
	}
	if len(jobs) > size {
		jobs, more = jobs[:size], true
		at = jobs[size-1].ID
	}
	if page.Before != "" {
		slices.Reverse(jobs)
	}
	next, prev := "", ""
	if more {
		next = queue.IDCursor(at)
	}
	if len(jobs) > 0 && (page.After != "" || page.Before != "") {
		prev = queue.IDCursor(jobs[0].ID)
	}
	if out.Prev, out.Next = prev, next; page.Before != "" {
		out.Prev, out.Next = next, page.Before
		if len(jobs) > 0 {
			out.Next = queue.IDCursor(jobs[len(jobs)-1].ID)
		}
	}
	return jobs, nil
}

// pageTag makes the ETag of a page.
type pageTag struct {
	base string
	last string // that the client has, if it has one of this page
}

func (s *jobPages) tag(mark int64, q v1.JobQuery, page v1.PageQuery) pageTag {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %+v %+v", s.salt, mark, q, page)
	return pageTag{base: fmt.Sprintf("%x", h.Sum64())}
}

// of is the ETag; that of a page in which something changes by the clock alone is good for a minute.
func (t *pageTag) of(clocked bool, now time.Time) string {
	if clocked {
		return fmt.Sprintf("%q", fmt.Sprintf("%s.%d", t.base, now.Unix()/60))
	}
	return fmt.Sprintf("%q", t.base)
}

// has reports whether the client has the page as it is now.
func (t *pageTag) has(have string, now time.Time) bool {
	for _, clocked := range []bool{false, true} {
		if t.last = t.of(clocked, now); strings.Contains(have, t.last) {
			return true
		}
	}
	return false
}
