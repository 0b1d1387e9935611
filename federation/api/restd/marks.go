package restd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/journal"
)

// marks remember how far the store's log was when a listing of all jobs was made, so that update_time can be answered without
// making it again.
type marks struct {
	mu   sync.Mutex
	list []mark // in order of time
}

type mark struct {
	at  int64
	log journal.Mark
}

func (m *marks) add(at int64, log journal.Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.list); n > 0 && m.list[n-1].at == at {
		return // the first of a second: what came later in it is a change
	}
	if len(m.list) == 256 {
		m.list = append(m.list[:0], m.list[128:]...)
	}
	m.list = append(m.list, mark{at, log})
}

// before returns the newest mark that is not after at.
func (m *marks) before(at int64) (mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.list) - 1; i >= 0; i-- {
		if m.list[i].at <= at {
			return m.list[i], true
		}
	}
	return mark{}, false
}

// unchanged reports whether no job has changed since the listing that was made at since. A job that leaves the listing
// by its age alone is not a change, as in slurmctld.
func (s *Server) unchanged(ctx context.Context, since int64) (bool, error) {
	m, ok := s.marks.before(since)
	if !ok {
		return false, nil
	}
	news, err := ReadLog(ctx, s.Store, m.log)
	if errors.Is(err, federation.ErrTrimmed) {
		return false, nil
	}
	if err != nil || len(news.Jobs) == 0 {
		return err == nil, answer.OfStore(err, answer.NoContact)
	}
	jobs, err := s.Store.Jobs(ctx, federation.JobQuery{
		IDs: slices.Collect(maps.Keys(news.Jobs)), Alone: true, EndedAfter: s.Now().Add(-s.Keep), Limit: 1,
	})
	return err == nil && len(jobs) == 0, answer.OfStore(err, answer.NoContact)
}
