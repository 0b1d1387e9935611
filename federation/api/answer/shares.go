package answer

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
}

// shared answers a request once its user has a share left. Administrators do not wait.
func (s *Router) shared(h Handler, w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	if r.ContentLength != 0 {
		r.Body = &timedBody{ReadCloser: r.Body, rc: http.NewResponseController(w), limit: bodyTime(r.ContentLength)}
	}
	if c.Role >= identity.RoleAdministrator || s.Long[r.Pattern] {
		return s.guarded(h, w, r, c)
	}
	s.inHand.once.Do(func() { s.inHand.reads, s.inHand.writes = share.New(0, readsOfUser), share.New(0, writesOfUser) })
	slots := s.inHand.writes
	if r.Method == http.MethodGet {
		slots = s.inHand.reads
	}
	ctx, cancel := context.WithTimeout(r.Context(), turnWait)
	free, err := slots.Take(ctx, c.UID)
	cancel()
	if err != nil {
		return &federation.SlurmError{Kind: federation.ErrConflict, Number: 5004, Text: "Socket timed out on send/recv operation",
			Detail: fmt.Sprintf("too many requests of %s are being answered; try again", c.Name)}
	}
	defer free()
	return s.guarded(h, w, r, c)
}

// timedBody is a body that has to come within a time from its first byte being asked for: a caller that stops in the middle does not keep what it was
// given.
type timedBody struct {
	io.ReadCloser
	rc    *http.ResponseController
	limit time.Duration
	begun bool
}

func (b *timedBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.rc.SetReadDeadline(time.Now().Add(b.limit)) // not every ResponseWriter can: tests'
	}
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
