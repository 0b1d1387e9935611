package federation

import (
	"errors"
	"fmt"
	"strings"
)

// The errors that callers act on. Each has one policy in the controller; all others are treated as ErrUnavailable.
var (
	// ErrInvalid: the request can never be right (bad option, bad value). The job fails, the reason goes to the user.
	ErrInvalid = errors.New("invalid request")
	// ErrDenied: this user, account or token may not do that at this site. The site is not viable for the job.
	ErrDenied = errors.New("denied")
	// ErrCapacity: the site cannot run it now or ever, as it stands; another site may. Next site, or wait.
	ErrCapacity = errors.New("no capacity")
	// ErrUnavailable: no answer, or none that proves anything. What was asked may or may not have happened: keep the
	// state, back off, show the age.
	ErrUnavailable = errors.New("unavailable")
	// ErrNotFound: the site (or the store) answered in full and does not know the thing.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the name or ID is taken by something that is not ours, or the state has changed meanwhile.
	ErrConflict = errors.New("conflict")
)

// ErrTrimmed: the log of changes does not go back so far. Who follows it reads the store anew; see journal.Follower.
var ErrTrimmed = errors.New("no longer in the log of changes")

// ErrNotSent is the one kind of ErrUnavailable that proves something: the request never left, so nothing of it can have
// happened (connection refused, no route, the site's API could not reach its controller).
var ErrNotSent = fmt.Errorf("%w: not sent", ErrUnavailable)

// ErrThrottled is the kind of ErrUnavailable that is nobody's failure: a call has waited for its turn among the daemon's own calls to a site, or a request
// among its user's, until its time was over. It was not begun, unless it consists of several.
var ErrThrottled = fmt.Errorf("%w: too many calls", ErrUnavailable)

// ErrRemembered is the kind of ErrConflict that passes by itself: an earlier attempt of the same job has ended, and the site's controller still remembers it
// under the job's ID, until MinJobAge of its slurm.conf has passed. Nothing was taken.
var ErrRemembered = fmt.Errorf("%w: an earlier attempt is remembered", ErrConflict)

// ErrLimit is the kind of ErrCapacity that may pass by itself: a limit of the user, account or QOS at the site is reached. Slurm has one number for
// limits of submitted jobs, which pass when some of them have ended, and for limits of a job's size, which do not.
var ErrLimit = fmt.Errorf("%w: a limit is reached", ErrCapacity)

// SlurmError carries Slurm's own number and sentence beside one of the errors above, so that a command can say
// what sbatch or scancel would have said. It wraps Kind.
type SlurmError struct {
	Kind   error  // one of the Err values above
	Number int    // Slurm's error number, 0 if it gave none (2014, 2045, ...)
	Said   string // what slurmctld says to the user before its sentence, if anything: "invalid partition specified: x"
	Text   string // Slurm's sentence: "Requested node configuration is not available"
	Detail string // what was asked and of whom; may be empty, or have several lines
	// Alone: Text is all that a command says. Else sbatch puts "Batch job submission failed: " before it.
	Alone bool
}

func (e *SlurmError) Error() string {
	if e.Detail == "" {
		return e.Text
	}
	return e.Text + ": " + strings.ReplaceAll(e.Detail, "\n", "; ")
}

func (e *SlurmError) Unwrap() error { return e.Kind }
