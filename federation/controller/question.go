package controller

import (
	"context"
	"sync"
	"time"

	"fsub/federation/share"
)

// answerFor is how long an answer to a question may be given again.
const answerFor = 5 * time.Second

// question is what the rest of the daemon asks of a round: those who wait for the answer, and what was answered last.
type question[T any] struct {
	mu   sync.Mutex
	to   []chan<- T
	last T
	made time.Time // zero: nothing was answered yet
}

// ask returns an answer that may be some seconds old; else it waits for the round under way. What it returns is shared.
func (q *question[T]) ask(ctx context.Context, c *Controller) (none T, err error) {
	to := make(chan T, 1)
	q.mu.Lock()
	if !q.made.IsZero() && c.now().Sub(q.made) < answerFor {
		defer q.mu.Unlock()
		return q.last, nil
	}
	q.to = append(q.to, to)
	q.mu.Unlock()
	c.Wake()
	defer share.Idle(ctx)()
	select {
	case answer := <-to:
		return answer, nil
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// answer works out the answer for those who have asked, if there are any.
func (q *question[T]) answer(now time.Time, work func() T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.to) == 0 {
		return
	}
	q.last, q.made = work(), now
	for _, to := range q.to {
		to <- q.last
	}
	q.to = nil
}
