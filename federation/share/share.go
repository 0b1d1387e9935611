// Package share divides a number of slots among users, so that nobody can hold all of them: [Slots].
package share

import (
	"context"
	"errors"
	"sync"
)

// Slots bound what is done at one time, of each user and in all. A user who has his share waits among his own.
type Slots struct {
	all   chan struct{} // nil: only each user's are bounded
	own   int
	waits int // of one user's; 0: any number

	mu   sync.Mutex
	user map[uint32]*userSlots
}

type userSlots struct {
	taken chan struct{}
	here  int // who have or want one
}

// New returns so many slots in all, 0 for no bound, of which one user may have own at a time: never all of them.
func New(all, own int) *Slots {
	s := &Slots{own: max(own, 1), user: map[uint32]*userSlots{}}
	if all > 0 {
		s.all, s.own = make(chan struct{}, all), max(min(own, all-1), 1)
	}
	return s
}

// Bound lets so many of one user's wait, and has more of them fail at once with [ErrMany].
func (s *Slots) Bound(waits int) *Slots {
	s.waits = waits
	return s
}

// ErrMany: too many of the user's wait.
var ErrMany = errors.New("too many of the same user wait")

// Take waits for a slot of the user's; call free when done. It fails when ctx ends.
func (s *Slots) Take(ctx context.Context, uid uint32) (free func(), err error) {
	u := s.enter(uid)
	if u == nil {
		return nil, ErrMany
	}
	if err := send(ctx, u.taken); err != nil {
		s.leave(uid)
		return nil, err
	}
	if s.all != nil {
		if err := send(ctx, s.all); err != nil {
			<-u.taken
			s.leave(uid)
			return nil, err
		}
	}
	return func() {
		if s.all != nil {
			<-s.all
		}
		<-u.taken
		s.leave(uid)
	}, nil
}

func send(ctx context.Context, to chan<- struct{}) error {
	select {
	case to <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter returns nil where nobody more may wait.
func (s *Slots) enter(uid uint32) *userSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user[uid]
	if u == nil {
		u = &userSlots{taken: make(chan struct{}, s.own)}
		s.user[uid] = u
	}
	if s.waits > 0 && u.here >= s.own+s.waits {
		return nil
	}
	u.here++
	return u
}

func (s *Slots) leave(uid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user[uid].here--; s.user[uid].here == 0 {
		delete(s.user, uid)
	}
}
