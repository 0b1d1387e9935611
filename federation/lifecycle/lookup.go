package lifecycle

import (
	"cmp"
	"errors"
	"time"

	"fsub/federation"
)

// Answer is what a site says when it is asked for all that it knows of an attempt.
type Answer struct {
	Found   federation.SiteJob
	Err     error
	Confirm bool // it was asked whether the attempt has lost its start
}

// Finding is what the answer to a look-up proves.
type Finding int

const (
	Nothing       Finding = iota // it proves nothing: ask again later
	IsThere                      // the site has the attempt, as it says
	LostItsStart                 // the site has the attempt, and its controller has forgotten that it started
	RemembersLast                // the site still remembers the run before under the same ID, and takes no other
	NeverArrived                 // it never arrived, or was lost before it was saved. Should it still arrive, its ID has the second one refused
	WasLost                      // the site had acknowledged it, and does not know it any more, or only its accounting does, as not ended
)

// AfterLookup says what an answer proves of an attempt.
func (k *Known) AfterLookup(a *Answer) Finding {
	known := a.Err == nil && k.Is(&a.Found)
	switch {
	case a.Err != nil && !errors.Is(a.Err, federation.ErrNotFound):
		return Nothing
	case known && a.Confirm && k.LostStart(&a.Found):
		return LostItsStart
	case known && (!a.Found.FromAccounting || a.Found.State.Ended()):
		return IsThere
	case !k.Unsure || known:
		return WasLost
	case a.Err == nil && !a.Found.FromAccounting && a.Found.State.Ended() && k.RanHere && !k.Cancel:
		return RemembersLast
	}
	return NeverArrived
}

// Missing is an attempt that its site does not know any more.
type Missing struct {
	Since   time.Time // when that was seen first
	Last    time.Time // when the site's controller was last seen to have it; zero: a new daemon has not seen it
	Acked   time.Time // when the site acknowledged it; zero: it did not
	Created time.Time
}

func (m Missing) unseen() time.Duration { return m.Since.Sub(cmp.Or(m.Last, m.Acked, m.Created)) }

// BelievedAt is when the attempt counts as lost: after a second look, for an accounting record may still be under way after the first. One that was unseen for longer
// than a site's controller remembers ended jobs may have ended and been forgotten in the ordinary way while accounting lags.
func (m Missing) BelievedAt(confirm, minJobAge time.Duration) time.Time {
	if m.unseen() > minJobAge {
		return m.Since.Add(minJobAge)
	}
	return m.Since.Add(confirm)
}

// Restored reports whether no crash of the site's controller explains that it is missing: it saves what it has acknowledged within saved. Then the controller
// was put back to an older state.
func (m Missing) Restored(minJobAge, saved time.Duration) bool {
	return m.unseen() <= minJobAge && !m.Acked.IsZero() && m.Since.Sub(m.Acked) > saved
}
