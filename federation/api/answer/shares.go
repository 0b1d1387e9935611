package answer

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/share"
)

// Requests of one user that are in hand at a time: more wait for a moment, and are then refused. What is read may be large, and is held until the caller
// has read it. Long polls are bounded by the connections of their user.
const (
	readsOfUser  = 8
	writesOfUser = 64
	turnWait     = 30 * time.Second
)

// shares divide what the daemon does at a time among users.
type shares struct {
	once          sync.Once
	reads, writes *share.Slots
	bodies        *share.Slots // large ones of a user
	allBodies     *share.Turns // and of all
	work          *share.Turns
	unread        unread
}

func (s *shares) init() {
	s.reads, s.writes, s.bodies = share.New(0, readsOfUser), share.New(0, writesOfUser), share.New(0, largeOfUser)
	n := min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) // those who listen, store and plan need some, too
	s.allBodies, s.work = share.NewTurns(largeBodies, 0), share.NewTurns(max(n/2, 1), n)
}

// shared answers a request once its user has a share left and it is his turn. Administrators do not wait.
func (s *Router) shared(h Handler, w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if r.ContentLength != 0 {
		r.Body = &timedBody{ReadCloser: r.Body, ctx: r.Context(), rc: http.NewResponseController(w), limit: bodyTime(r)}
	}
	if c.Role >= identity.RoleAdministrator {
		r = r.WithContext(share.With(r.Context(), nil))
		s.Within.wait(r, c)
		return s.guarded(h, w, r, c)
	}
	in := &s.inHand
	in.once.Do(in.init)
	ctx, cancel := context.WithTimeout(r.Context(), turnWait)
	defer cancel()
	slots := in.writes
	if r.Method == http.MethodGet {
		slots = in.reads
	}
	if !s.Long[r.Pattern] {
		free, err := slots.Take(ctx, c.UID)
		if err != nil {
			return busy(c)
		}
		defer free()
	}
	if r.ContentLength < 0 || r.ContentLength > largeBody {
		free, err := in.bodies.Take(ctx, c.UID)
		if err != nil {
			return busy(c)
		}
		defer free()
		seat, err := in.allBodies.Take(ctx, c.UID)
		if err != nil {
			return busy(c)
		}
		defer seat.Done()
	}
	turn, err := in.work.Take(ctx, c.UID)
	if err != nil {
		return busy(c)
	}
	defer turn.Done()
	r = r.WithContext(share.With(r.Context(), turn))
	if b, ok := r.Body.(*timedBody); ok {
		b.ctx = r.Context()
	}
	s.Within.wait(r, c)
	return s.guarded(h, &fairWriter{ResponseWriter: w, ctx: r.Context(), uid: c.UID, unread: &in.unread}, r, c)
}

func busy(c identity.Caller) error {
	return &federation.SlurmError{Kind: federation.ErrThrottled, Number: 5004, Text: "Socket timed out on send/recv operation",
		Detail: fmt.Sprintf("too many requests of %s are being answered; try again", c.Name)}
}

// timedBody is a body for which a caller is waited for no longer than a time: one that stops in the middle does not keep what it was given. How long the daemon takes to work on
// what has come does not count: on a busy machine that may be longer.
type timedBody struct {
	io.ReadCloser
	ctx    context.Context // with the turn that is given back while it comes
	rc     *http.ResponseController
	limit  time.Duration
	waited time.Duration // so far
}

func (b *timedBody) Read(p []byte) (int, error) {
	again := share.Idle(b.ctx)
	began := time.Now()
	_ = b.rc.SetReadDeadline(began.Add(b.limit - b.waited)) // not every ResponseWriter can: tests'
	n, err := b.ReadCloser.Read(p)
	b.waited += time.Since(began)
	again()
	if err != nil {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
