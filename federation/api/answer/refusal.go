package answer

import (
	"errors"
	"net/http"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Slurm's numbers and sentences of what this package refuses by itself.
var (
	InvalidJobID = NewError(federation.ErrNotFound, wire.ErrJobID)
	Denied       = NewError(federation.ErrDenied, wire.ErrAccess)
	NotYourJob   = NewError(federation.ErrDenied, wire.ErrUserID)
	AlreadyDone  = NewError(federation.ErrConflict, wire.ErrAlreadyDone)
	JobFinished  = NewError(federation.ErrConflict, wire.ErrJobFinished)
	NotPending   = NewError(federation.ErrConflict, wire.ErrNotPending)
	NotSuspended = NewError(federation.ErrConflict, wire.ErrNotSuspended)
	// 24.11 says so of every step of a suspended job.
	StepNotRunning = &federation.SlurmError{Kind: federation.ErrConflict, Number: 4027, Text: "Job step not running"}
	TryLater       = &federation.SlurmError{Kind: federation.ErrConflict, Number: 2020, Text: "Job can not be altered now, try again later"}
	// What a client of a broken slurmctld sees. The first is said where nothing was written, the second where
	// something may have been: clients retry the first without a thought.
	NoContact = NewError(federation.ErrUnavailable, wire.ErrUnreachable)
	TimedOut  = &federation.SlurmError{Kind: federation.ErrUnavailable, Number: 5004, Text: "Socket timed out on send/recv operation"}
	// NotNow is the answer to a submission on which sbatch waits and tries again.
	NotNow = &federation.SlurmError{Kind: federation.ErrUnavailable, Number: 11, Text: "Resource temporarily unavailable"}
)

// New is Slurm's error number with its sentence.
func NewError(kind error, number int) *federation.SlurmError {
	return &federation.SlurmError{Kind: kind, Number: number, Text: wire.Strerror(number)}
}

// Detailed is e with something for people to look at.
func Detailed(e *federation.SlurmError, detail string) *federation.SlurmError {
	d := *e
	d.Detail = detail
	return &d
}

// Invalid is a request that cannot be right, with something for people to look at.
func Invalid(number int, detail string) error {
	e := NewError(federation.ErrInvalid, number)
	e.Detail = detail
	return e
}

// BadBody is a request that cannot be read at all.
func BadBody(detail string) error { return Invalid(wire.ErrConvert, detail) }

type NoRouteError struct{ method, path string }

func (e NoRouteError) Error() string { return "no such path: " + e.method + " " + e.path }

func NoRoute(r *http.Request) error { return NoRouteError{r.Method, r.URL.Path} }

// OfStore words an error of the store for a caller: what is not there is an unknown job, anything else is an outage.
func OfStore(err error, seen *federation.SlurmError) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, federation.ErrNotFound) {
		return InvalidJobID
	}
	return Outage(seen, err)
}

// Outage is cause as callers see it.
func Outage(seen *federation.SlurmError, cause error) error { return OutageError{seen, cause} }

// OutageError is an outage as callers see it, with the cause for the log.
type OutageError struct {
	*federation.SlurmError
	Cause error
}

func (e OutageError) Unwrap() []error { return []error{e.SlurmError, e.Cause} }

// LinesError refuses a batch for what is wrong with some of its lines.
type LinesError struct {
	*federation.SlurmError // about the first of them
	Lines                  []v1.LineError
}

func (e LinesError) Unwrap() error { return e.SlurmError }

// OnWire is err as /fed/v1 says it.
func OnWire(err error) v1.Error {
	var lines LinesError
	if errors.As(err, &lines) {
		on := OnWire(lines.SlurmError)
		on.Lines = lines.Lines
		return on
	}
	var e *federation.SlurmError
	if errors.As(err, &e) {
		var outage OutageError
		if errors.As(err, &outage) && e.Detail == "" && outage.Cause != nil {
			return v1.Error{Number: e.Number, Said: e.Said, Text: e.Text, Detail: outage.Cause.Error(), Alone: e.Alone}
		}
		return v1.Error{Number: e.Number, Said: e.Said, Text: e.Text, Detail: e.Detail, Alone: e.Alone}
	}
	return v1.Error{Text: err.Error()}
}
