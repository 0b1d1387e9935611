package apitest

import (
	"context"
	"sync"
	"time"

	"fsub/federation"
)

// Usage is a federation.UsageStore in memory. It knows no jobs, so that all are measured.
type Usage struct {
	mu   sync.Mutex
	jobs map[federation.JobID][]federation.Usage
}

var _ federation.UsageStore = (*Usage)(nil)

// NewUsage returns an empty one.
func NewUsage() *Usage { return &Usage{jobs: map[federation.JobID][]federation.Usage{}} }

// PutUsage implements federation.UsageStore.
func (u *Usage) PutUsage(_ context.Context, job federation.JobID, list []federation.Usage) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.jobs[job] = list
	return nil
}

// UsageOf implements federation.UsageStore.
func (u *Usage) UsageOf(_ context.Context, ids []federation.JobID) (map[federation.JobID][]federation.Usage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[federation.JobID][]federation.Usage{}
	for _, id := range ids {
		if list, ok := u.jobs[id]; ok {
			out[id] = list
		}
	}
	return out, nil
}

// Unmeasured implements federation.UsageStore.
func (u *Usage) Unmeasured(context.Context, time.Time, int) ([]federation.JobID, error) {
	return nil, nil
}
