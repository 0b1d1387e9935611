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
	took time.Duration
	old  bool // much has changed since
}

// outdate says that jobs have been placed since the last answer. It stands no longer than takes a tenth of the time to answer anew then: who has just submitted a job asks about that.
func (q *question[T]) outdate() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.old = true
}

// stands is how long the last answer may be told.
func (q *question[T]) stands() time.Duration {
	if q.old {
		return min(10*q.took, answerFor)
	}
	return answerFor
}

// ask returns an answer that may be some seconds old; else it waits for the round under way. What it returns is shared.
func (q *question[T]) ask(ctx context.Context, c *View) (none T, err error) {
	to := make(chan T, 1)
	q.mu.Lock()
	if !q.made.IsZero() && c.now().Sub(q.made) < q.stands() {
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
func (q *question[T]) answer(now func() time.Time, work func() T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.to) == 0 {
		return
	}
	q.made, q.old = now(), false
	q.last = work()
	q.took = now().Sub(q.made)
	for _, to := range q.to {
		to <- q.last
	}
	q.to = nil
}
