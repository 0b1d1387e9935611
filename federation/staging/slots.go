package staging

import (
	"context"
	"sync"
)

// copies is how many jobs are served at one time; copiesOf is how many of one user's, unless the configuration says otherwise.
const (
	copies   = 8
	copiesOf = 3
)

// slots bound the copies at one time, so that no user has all of them: his own files, or helpers that he stops, hold up his own jobs.
type slots struct {
	all chan struct{}
	own int

	mu   sync.Mutex
	user map[uint32]*userSlots
}

type userSlots struct {
	taken chan struct{}
	here  int // who have or want one
}

func newSlots(own int) *slots {
	if own == 0 {
		own = copiesOf
	}
	return &slots{all: make(chan struct{}, copies), own: min(own, copies-1), user: map[uint32]*userSlots{}}
}

// take waits for room, first among the user's own jobs; call free when done.
func (s *slots) take(ctx context.Context, uid uint32) (free func(), err error) {
	u := s.enter(uid)
	if err := send(ctx, u.taken); err != nil {
		s.leave(uid)
		return nil, err
	}
	if err := send(ctx, s.all); err != nil {
		<-u.taken
		s.leave(uid)
		return nil, err
	}
	return func() {
		<-s.all
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

func (s *slots) enter(uid uint32) *userSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user[uid]
	if u == nil {
		u = &userSlots{taken: make(chan struct{}, s.own)}
		s.user[uid] = u
	}
	u.here++
	return u
}

func (s *slots) leave(uid uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user[uid].here--; s.user[uid].here == 0 {
		delete(s.user, uid)
	}
}
