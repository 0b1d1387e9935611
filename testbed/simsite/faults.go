package simsite

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// FaultKind is one way in which a site fails its callers.
type FaultKind string

const (
	Refuse     FaultKind = "refuse"      // connection refused: nothing was sent
	Drop       FaultKind = "drop"        // the connection breaks before the site has acted
	LoseReply  FaultKind = "lose-reply"  // the connection breaks after the site has acted
	Hang       FaultKind = "hang"        // not acted on, no answer; see Fault.Delay
	HangAfter  FaultKind = "hang-after"  // acted on, no answer
	Fail500    FaultKind = "500"         // HTTP 500 with a text, not acted on
	Gateway504 FaultKind = "504"         // HTTP 504 after the site has acted
	Empty      FaultKind = "empty"       // 200 with empty lists
	Truncate   FaultKind = "truncate"    // 200 with half of the answer, after the site has acted
	Garbage    FaultKind = "garbage"     // 200 with something that is no JSON, after the site has acted
	Slow       FaultKind = "slow"        // Delay before the site acts; another fault may follow
	NoReach    FaultKind = "unreachable" // slurmrestd answers that it cannot reach slurmctld
)

// Op names what a request does; faults are aimed at ops.
type Op string

const (
	OpPing         Op = "ping"
	OpDiag         Op = "diag"
	OpSubmit       Op = "submit"
	OpState        Op = "state" // /jobs/state/
	OpJobs         Op = "jobs"
	OpJob          Op = "job"
	OpUpdate       Op = "update"
	OpKill         Op = "kill"
	OpNodes        Op = "nodes"
	OpNodeUpdate   Op = "node-update"
	OpPartitions   Op = "partitions"
	OpReservations Op = "reservations"
	OpReserve      Op = "reserve" // made or removed
	OpLicenses     Op = "licenses"
	OpDBJobs       Op = "db-jobs" // one job or many
	OpDBOther      Op = "db"      // associations, wckeys
	OpNone         Op = ""        // an unknown path
)

// Fault is a switch: from [Site.Inject] on, requests may fail in this way.
type Fault struct {
	Kind  FaultKind
	Ops   []Op    // none: every request
	Prob  float64 // drawn for each request by the site's seed; 0: every time
	Times int     // how often it strikes before it is over; 0: until removed
	// Delay is how long Slow waits, by the site's clock. For Hang it is the caller's patience: after it the request
	// fails as timed out. 0: until the caller's context is done, or ReleaseHung.
	Delay time.Duration
}

type faultBox struct {
	rng    *rand.Rand
	list   []*Fault
	hungUp chan struct{}
}

// Inject switches a fault on. The function that it returns switches it off.
func (s *Site) Inject(f Fault) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &f
	s.faults.list = append(s.faults.list, p)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults.list = slices.DeleteFunc(s.faults.list, func(q *Fault) bool { return q == p })
	}
}

// ClearFaults switches all faults off and lets hanging requests fail.
func (s *Site) ClearFaults() {
	s.mu.Lock()
	s.faults.list = nil
	s.mu.Unlock()
	s.ReleaseHung()
}

// ReleaseHung breaks the connections of all requests that hang now.
func (s *Site) ReleaseHung() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.hungUp != nil {
		close(s.faults.hungUp)
		s.faults.hungUp = nil
	}
}

// drawn are the faults that strike one request.
type drawn struct {
	kind  FaultKind
	delay time.Duration // of kind
	slow  time.Duration
}

// draw decides what befalls a request.
func (s *Site) draw(op Op) drawn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests++
	var d drawn
	for _, f := range slices.Clone(s.faults.list) {
		if len(f.Ops) > 0 && !slices.Contains(f.Ops, op) || f.Kind != Slow && d.kind != "" {
			continue
		}
		if f.Prob > 0 && s.faults.rng.Float64() >= f.Prob {
			continue
		}
		s.stats.Faults++
		if f.Kind == Slow {
			d.slow += f.Delay
		} else {
			d.kind, d.delay = f.Kind, f.Delay
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				s.faults.list = slices.DeleteFunc(s.faults.list, func(q *Fault) bool { return q == f })
			}
		}
	}
	return d
}

// What a caller sees of a fault that breaks the connection.
var (
	errRefused = errors.New("connection refused")
	errReset   = errors.New("connection reset by peer")
)

// through carries out a request under the faults drawn for it. It returns errRefused, errReset, or the context's error
// where the connection was broken; then the caller gets no answer, whether act was called or not. Otherwise it
// returns the fault that spoils the answer, if any.
func (s *Site) through(ctx context.Context, op Op, act func()) (FaultKind, error) {
	d := s.draw(op)
	if d.slow > 0 {
		if err := s.clock.Sleep(ctx, d.slow); err != nil {
			return "", err
		}
	}
	switch d.kind {
	case Refuse:
		return "", errRefused
	case Drop:
		return "", errReset
	case Hang:
		return "", s.hang(ctx, d.delay)
	case Fail500, Empty, NoReach:
		return d.kind, nil
	}
	act()
	switch d.kind {
	case LoseReply:
		return "", errReset
	case HangAfter:
		return "", s.hang(ctx, d.delay)
	}
	return d.kind, nil
}

// hang waits until the caller gives up or the fault is lifted.
func (s *Site) hang(ctx context.Context, patience time.Duration) error {
	if patience > 0 {
		if err := s.clock.Sleep(ctx, patience); err != nil {
			return err
		}
		return context.DeadlineExceeded
	}
	s.mu.Lock()
	if s.faults.hungUp == nil {
		s.faults.hungUp = make(chan struct{})
	}
	up := s.faults.hungUp
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-up:
		return errReset
	}
}
