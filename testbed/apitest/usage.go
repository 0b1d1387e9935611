package apitest

import (
	"context"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/usage"
)

// Usage is a usage.Store in memory. It knows no jobs, so that all are measured.
type Usage struct {
	mu   sync.Mutex
	jobs map[federation.JobID][]usage.Usage
}

var _ usage.Store = (*Usage)(nil)

// NewUsage returns an empty one.
func NewUsage() *Usage { return &Usage{jobs: map[federation.JobID][]usage.Usage{}} }

// PutUsage implements usage.Store.
func (u *Usage) PutUsage(_ context.Context, job federation.JobID, list []usage.Usage) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.jobs[job] = list
	return nil
}

// UsageOf implements usage.Store.
func (u *Usage) UsageOf(_ context.Context, ids []federation.JobID) (map[federation.JobID][]usage.Usage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[federation.JobID][]usage.Usage{}
	for _, id := range ids {
		if list, ok := u.jobs[id]; ok {
			out[id] = list
		}
	}
	return out, nil
}

// Unmeasured implements usage.Store.
func (u *Usage) Unmeasured(context.Context, time.Time, int) ([]federation.JobID, error) {
	return nil, nil
}
