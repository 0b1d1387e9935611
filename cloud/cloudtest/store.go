package cloudtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
)

// Store is a records.PoolStore in memory. What it has taken outlives every driver.
type Store struct {
	mu      sync.Mutex
	records []records.PoolRecord
	at      map[string]int
	numbers map[records.PoolKind]int64
	// Before is called before each call that changes something; an error is what the caller gets, and nothing is done. After is
	// called when it is done; an error is what the caller gets all the same. Nil: no fault.
	Before, After func(op string) error
	commits       int
}

var _ records.PoolStore = (*Store)(nil)

func (s *Store) around(op string, do func()) error {
	if s.Before != nil {
		if err := s.Before(op); err != nil {
			return err
		}
	}
	s.mu.Lock()
	do()
	s.mu.Unlock()
	if s.After != nil {
		return s.After(op)
	}
	return nil
}

// CommitPool implements records.PoolStore.
func (s *Store) CommitPool(_ context.Context, site federation.SiteName, put []records.PoolRecord) error {
	return s.around("CommitPool", func() {
		s.commits++
		for _, r := range put {
			s.put(site, r)
		}
	})
}

func (s *Store) put(site federation.SiteName, r records.PoolRecord) {
	r.Site = site
	r.Data, r.Payload = slices.Clone(r.Data), slices.Clone(r.Payload)
	key := fmt.Sprint(site, " ", r.Kind, " ", r.ID)
	if s.at == nil {
		s.at = map[string]int{}
	}
	i, ok := s.at[key]
	if !ok {
		i = len(s.records)
		s.at[key] = i
		s.records = append(s.records, records.PoolRecord{})
	}
	if r.Payload == nil {
		r.Payload = s.records[i].Payload
	}
	if !r.Closed.IsZero() {
		r.Payload = nil
	}
	s.records[i] = r
}

// Commits is how many pages were written.
func (s *Store) Commits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

func (s *Store) filter(keep func(*records.PoolRecord) bool) (out []records.PoolRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.records {
		if r := s.records[i]; keep(&r) {
			r.Payload = nil
			out = append(out, r)
		}
	}
	return out
}

// LoadPool implements records.PoolStore.
func (s *Store) LoadPool(_ context.Context, site federation.SiteName, since time.Time) ([]records.PoolRecord, error) {
	return s.filter(func(r *records.PoolRecord) bool {
		return r.Site == site && (r.Closed.IsZero() || !r.Closed.Before(since))
	}), nil
}

// PoolRecords implements records.PoolStore.
func (s *Store) PoolRecords(_ context.Context, site federation.SiteName, kind records.PoolKind, job federation.JobID) ([]records.PoolRecord, error) {
	return s.filter(func(r *records.PoolRecord) bool { return r.Site == site && r.Kind == kind && r.Job == job }), nil
}

// PoolPayload implements records.PoolStore.
func (s *Store) PoolPayload(_ context.Context, site federation.SiteName, kind records.PoolKind, id string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.at[fmt.Sprint(site, " ", kind, " ", id)]
	if !ok || s.records[i].Payload == nil {
		return nil, federation.ErrNotFound
	}
	return s.records[i].Payload, nil
}

// PoolHistory implements records.PoolStore.
func (s *Store) PoolHistory(_ context.Context, site federation.SiteName, kind records.PoolKind, since time.Time, limit int) ([]records.PoolRecord, error) {
	list := s.filter(func(r *records.PoolRecord) bool {
		return (site == "" || r.Site == site) && r.Kind == kind && (r.Closed.IsZero() || !r.Closed.Before(since))
	})
	slices.Reverse(list)
	return list[:min(len(list), limit)], nil
}

// NextPoolNumber implements records.PoolStore.
func (s *Store) NextPoolNumber(_ context.Context, site federation.SiteName, kind records.PoolKind) (n int64, err error) {
	err = s.around("NextPoolNumber", func() {
		if s.numbers == nil {
			s.numbers = map[records.PoolKind]int64{}
		}
		s.numbers[kind]++
		n = s.numbers[kind]
	})
	return n, cmp.Or(err)
}
