package provider

import (
	"errors"
	"fmt"
	"time"

	"fsub/federation"
)

// ErrorKind is what a cloud's refusal means for the next call.
type ErrorKind string

const (
	KindStockOut    ErrorKind = "stock-out"   // the cloud has none left of these
	KindQuota       ErrorKind = "quota"       // the account may not have (so many of) these
	KindDenied      ErrorKind = "denied"      // the credentials are not good, or not for this
	KindInvalid     ErrorKind = "invalid"     // asked wrongly: it will never work like this
	KindThrottled   ErrorKind = "throttled"   // too many calls
	KindUnavailable ErrorKind = "unavailable" // no answer, or none that proves anything
	KindPending     ErrorKind = "pending"     // not refused and not done: the cloud has queued it
	KindKey         ErrorKind = "key"         // the key that encrypts the disks cannot be used
	KindNotFound    ErrorKind = "not-found"
	KindConflict    ErrorKind = "conflict" // the token was used for another request
)

// ErrAway is in an Error: the machine that has the nodes of a site cannot be reached, so that none can be started, listed or ended there. What runs on them goes on.
var ErrAway = errors.New("the machine of the nodes is away")

// Scope is how much of a cloud a refusal is about.
type Scope string

const (
	ScopeOffering Scope = "offering" // this type in this zone and market
	ScopeZone     Scope = "zone"     // this type's whole zone
	ScopeRegion   Scope = "region"   // this type and market in the region (quota)
	ScopeCloud    Scope = "cloud"    // everything
)

// Error is a cloud's refusal. It wraps the federation's error that fits it.
type Error struct {
	Kind  ErrorKind
	Scope Scope
	Code  string        // the cloud's own: "InsufficientInstanceCapacity"
	Text  string        // the cloud's own sentence, without secrets
	After time.Duration // how long the cloud asks to be left alone; 0: it did not say
	// Resume, with KindPending, is how to go on with the request after a restart: the next Request of the gang carries it. It holds no credential. "": the token is enough.
	Resume string
	Err    error // what the SDK returned, if anything
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%s: %s", e.Kind, e.Text)
	}
	return fmt.Sprintf("%s: %s: %s", e.Kind, e.Code, e.Text)
}

// Unwrap is the federation's error of this kind, and the SDK's.
func (e *Error) Unwrap() []error {
	kind := map[ErrorKind]error{
		KindStockOut: federation.ErrCapacity, KindQuota: federation.ErrCapacity, KindDenied: federation.ErrDenied, KindKey: federation.ErrDenied, KindInvalid: federation.ErrInvalid,
		KindNotFound: federation.ErrNotFound, KindConflict: federation.ErrConflict,
	}[e.Kind]
	if kind == nil {
		kind = federation.ErrUnavailable
	}
	if e.Err == nil {
		return []error{kind}
	}
	return []error{kind, e.Err}
}

// AsError is what a provider returned as an *Error; an error that is none proves nothing.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: KindUnavailable, Scope: ScopeCloud, Text: err.Error(), Err: err}
}

// Invalid is the refusal of a request that a provider does not even send.
func Invalid(format string, args ...any) error {
	return &Error{Kind: KindInvalid, Scope: ScopeOffering, Text: fmt.Sprintf(format, args...)}
}
