package store

import (
	"context"
	"sync"
)

// line is where writes wait: users take turns, so that many writes of some do not delay the one of another. The writes of one user go in their order.
type line struct {
	room chan struct{} // one element for each write that waits
	came chan struct{} // holds one: there is a write

	mu    sync.Mutex
	ids   int // job IDs that those who wait take
	users map[int64][]*write
	order []int64 // users who have writes here, the next one first
}

func newLine(most int) *line {
	return &line{room: make(chan struct{}, most), came: make(chan struct{}, 1), users: map[int64][]*write{}}
}

// add waits for room, and has p wait. After late it fails with slow.
func (l *line) add(ctx context.Context, closing <-chan struct{}, late <-chan struct{}, slow func() error, p *write) error {
	select {
	case l.room <- struct{}{}:
	case <-closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
		return slow()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.users[p.user]) == 0 {
		l.order = append(l.order, p.user)
	}
	l.users[p.user] = append(l.users[p.user], p)
	l.ids += p.ids
	l.tell()
	return nil
}

func (l *line) tell() {
	select {
	case l.came <- struct{}{}:
	default:
	}
}

// next takes one write of the user whose turn it is; nil: there is none.
func (l *line) next() *write {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.order) == 0 {
		return nil
	}
	user := l.order[0]
	l.order = l.order[1:]
	p := l.users[user][0]
	l.ids -= p.ids
	l.users[user][0] = nil
	if rest := l.users[user][1:]; len(rest) > 0 {
		l.users[user] = rest
		l.order = append(l.order, user)
	} else {
		delete(l.users, user)
	}
	if len(l.order) > 0 {
		l.tell()
	}
	<-l.room
	return p
}

// numbers is how many job IDs they take.
func (l *line) numbers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids
}

// waiting is how many there are.
func (l *line) waiting() int { return len(l.room) }
