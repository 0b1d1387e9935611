package answer

import (
	"context"
	"hash/fnv"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/share"
)

// Requests of strangers that are in hand at a time, of all and of one address, and how many of one address wait. Each counts for a second at least, so that these are also
// how many a second are answered.
const (
	ofStrangers    = 32
	ofOneAddress   = 8
	waitAtAddress  = 32
	strangerSecond = time.Second
)

// Strangers are callers whom nothing identifies, bounded by where they call from.
type Strangers struct {
	once  sync.Once
	slots *share.Slots
}

// stranger is nobody's uid: all share what one user may take up.
const stranger = math.MaxUint32

var errManyStrangers = &federation.SlurmError{Kind: federation.ErrUnavailable, Alone: true, Text: "too many sign in from this address at the moment; try again"}

// HandleStranger is Handle for callers whom nothing identifies yet, as those who sign in.
func (s *Router) HandleStranger(pattern string, h Handler) {
	answer := s.answering(pattern, func(*http.Request) (identity.Caller, error) { return identity.Caller{UID: stranger}, nil }, h, s.fail)
	s.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if !identity.ByDaemon(r.Context()) { // else they were counted there
			free, err := s.strangers.Take(r)
			if err != nil {
				Refusal(w, http.StatusServiceUnavailable, errManyStrangers)
				return
			}
			defer free()
		}
		answer(w, r)
	})
}

// Take counts a request. It is to be freed, which counts at the earliest a second after it was taken.
func (s *Strangers) Take(r *http.Request) (free func(), err error) {
	s.once.Do(func() { s.slots = share.New(ofStrangers, ofOneAddress).Bound(waitAtAddress) })
	ctx, cancel := context.WithTimeout(r.Context(), turnWait)
	defer cancel()
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	sum := fnv.New32a()
	sum.Write([]byte(host))
	slot, err := s.slots.Take(ctx, sum.Sum32())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return func() { time.AfterFunc(strangerSecond-time.Since(began), slot) }, nil
}
