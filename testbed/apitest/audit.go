package apitest

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
)

// auditLog is what a Store keeps of who did what.
type auditLog struct{ entries []federation.AuditEntry }

func (l *auditLog) add(entries []federation.AuditEntry) {
	for _, e := range entries {
		if e.At.IsZero() {
			e.At = time.Now().UTC()
		}
		e.Seq = int64(len(l.entries) + 1)
		l.entries = append(l.entries, e)
	}
}

// AddAudit implements federation.AuditLog.
func (s *Store) AddAudit(_ context.Context, entries ...federation.AuditEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.audit.add(entries)
	}
	return s.fail
}

// Audit implements federation.AuditLog. Of the query it knows user, object and kind.
func (s *Store) Audit(_ context.Context, q federation.AuditQuery) ([]federation.AuditEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.audit.entries), func(e federation.AuditEntry) bool {
		return q.User != "" && q.User != e.Who.User || q.Object != "" && q.Object != e.Object || q.Kind != "" && q.Kind != e.Kind
	}), s.fail
}
