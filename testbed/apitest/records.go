package apitest

import (
	"cmp"
	"context"
	"slices"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/records"
)

// Records implements records.Store.
func (s *Store) Records(_ context.Context, kind, owner string) ([]records.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(s.records), func(r records.Record) bool { return r.Kind != kind || owner != "" && r.Owner != owner })
	slices.SortFunc(all, func(a, b records.Record) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name))
	})
	return all, s.fail
}

func (s *Store) record(kind, owner, name string) int {
	return slices.IndexFunc(s.records, func(r records.Record) bool { return r.Kind == kind && r.Owner == owner && r.Name == name })
}

// PutRecord implements records.Store.
func (s *Store) PutRecord(_ context.Context, r *records.Record, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.record(r.Kind, r.Owner, r.Name)
	switch {
	case s.fail != nil:
		return s.fail
	case r.Rev != 0 && (i < 0 || s.records[i].Rev != r.Rev):
		return federation.ErrConflict
	case i >= 0:
		s.records = slices.Delete(s.records, i, i+1)
	}
	s.rev++
	r.Rev = s.rev
	s.records = append(s.records, *r)
	s.audit.add(audit)
	return nil
}

// RemoveRecord implements records.Store.
func (s *Store) RemoveRecord(_ context.Context, kind, owner, name string, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.record(kind, owner, name)
	switch {
	case s.fail != nil:
		return s.fail
	case i < 0:
		return federation.ErrNotFound
	}
	s.records = slices.Delete(s.records, i, i+1)
	s.audit.add(audit)
	return nil
}
