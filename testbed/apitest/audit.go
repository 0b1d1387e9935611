package apitest

import (
	"context"
	"slices"
	"time"

	"fsub/federation/audit"
)

// auditLog is what a Store keeps of who did what.
type auditLog struct{ entries []audit.Entry }

func (l *auditLog) add(entries []audit.Entry) {
	for _, e := range entries {
		if e.At.IsZero() {
			e.At = time.Now().UTC()
		}
		e.Seq = int64(len(l.entries) + 1)
		l.entries = append(l.entries, e)
	}
}

// AddAudit implements audit.Log.
func (s *Store) AddAudit(_ context.Context, entries ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.audit.add(entries)
	}
	return s.fail
}

// Audit implements audit.Log. Of the query it knows user, object and kind, and all that pages are made of.
func (s *Store) Audit(_ context.Context, q audit.Query) ([]audit.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := slices.DeleteFunc(slices.Clone(s.audit.entries), func(e audit.Entry) bool {
		return q.User != "" && q.User != e.Who.User || q.Object != "" && q.Object != e.Object || q.Kind != "" && q.Kind != e.Kind ||
			e.Seq <= q.After || q.Before > 0 && e.Seq >= q.Before
	})
	switch more := len(found) - q.Limit; {
	case q.Limit == 0 || more <= 0:
	case q.Oldest:
		found = found[:q.Limit]
	default:
		found = found[more:]
	}
	return found, s.fail
}
