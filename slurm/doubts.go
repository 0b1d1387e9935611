package slurm

import (
	"sync"
	"time"
)

// doubts remembers when a submission without a response was last sent.
type doubts struct {
	mu    sync.Mutex
	begin time.Time // before that another process may have sent some
	sent  map[string]time.Time
}

func (u *doubts) note(key string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sent == nil {
		u.sent = map[string]time.Time{}
	}
	u.sent[key] = now
	for k, at := range u.sent {
		if now.Sub(at) > time.Hour {
			delete(u.sent, k)
		}
	}
}

// left is how long the last submission of an attempt may still take effect.
func (u *doubts) left(key string, now time.Time, settle time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.begin
	if t, ok := u.sent[key]; ok {
		at = t
	}
	return settle - now.Sub(at)
}
