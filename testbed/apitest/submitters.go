package apitest

import (
	"context"
	"fmt"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
)

var _ federation.Submitters = (*Store)(nil)

// CreateJobOnce implements federation.Submitters.
func (s *Store) CreateJobOnce(ctx context.Context, j *federation.Job, p *sbatch.Payload, key string) (again bool, err error) {
	if id, err := s.JobOfKey(ctx, j.UID, key); err == nil {
		j.ID = id
		return true, nil
	}
	if err := s.CreateJob(ctx, j, p); err != nil {
		return false, err
	}
	if key != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys[keyOf(j.UID, key)] = j.ID
	}
	return false, nil
}

// CreateJobs implements federation.Submitters.
func (s *Store) CreateJobs(ctx context.Context, all []*federation.Job, payload func(n int) *sbatch.Payload, key string) (again []federation.JobID, err error) {
	if again, err := s.JobsOfKey(ctx, all[0].UID, key); err == nil && key != "" {
		return again, nil
	}
	for i, j := range all {
		if err := s.CreateJob(ctx, j, payload(i)); err != nil {
			return nil, err
		}
		if key != "" {
			s.mu.Lock()
			s.keys[keyOf(j.UID, fmt.Sprint(key, " ", i))] = j.ID
			s.mu.Unlock()
		}
	}
	return nil, nil
}

// JobsOfKey implements federation.Submitters.
func (s *Store) JobsOfKey(_ context.Context, uid uint32, key string) (ids []federation.JobID, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		id, ok := s.keys[keyOf(uid, fmt.Sprint(key, " ", len(ids)))]
		switch {
		case ok:
			ids = append(ids, id)
		case len(ids) == 0:
			return nil, federation.ErrNotFound
		default:
			return ids, nil
		}
	}
}

func keyOf(uid uint32, key string) string { return fmt.Sprint(uid, " ", key) }

// JobOfKey implements federation.Submitters.
func (s *Store) JobOfKey(_ context.Context, uid uint32, key string) (federation.JobID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.keys[keyOf(uid, key)]; ok {
		return id, nil
	}
	return 0, federation.ErrNotFound
}

// KeyOf implements federation.Submitters.
func (s *Store) KeyOf(_ context.Context, id federation.JobID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, of := range s.keys {
		if of == id {
			_, key, _ = strings.Cut(key, " ")
			return key, nil
		}
	}
	return "", federation.ErrNotFound
}

// Holding implements federation.Submitters.
func (s *Store) Holding(_ context.Context, uid uint32) (h federation.Holding, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, j := range s.jobs {
		if !j.State.Ended() {
			h.All++
		}
		if j.UID != uid {
			continue
		}
		if !j.State.Ended() {
			h.Jobs++
		}
		p := s.payloads[id]
		h.Bytes += int64(len(p.Script))
		for _, list := range [...][]string{p.Argv, p.Environment} {
			for _, text := range list {
				h.Bytes += int64(len(text)) + 1
			}
		}
	}
	return h, s.fail
}

// OpenRequests implements federation.Submitters.
func (s *Store) OpenRequests(_ context.Context, uid uint32) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.UID == uid {
			n++
		}
	}
	return n, s.fail
}
