package slurm

import (
	"cmp"

	"fsub/federation"
	"fsub/slurm/wire"
)

const errNoSuchURL = 9006 // from 26.05; older ones answer 404 with plain text

// unavailable reports whether Slurm's number means that the question did not reach who could answer it, or that the
// answer was lost: then nothing is proven.
func unavailable(number int) bool {
	switch {
	case number >= 1000 && number < 1007, number >= 1800 && number < 1900: // communication, controller, rate limit
		return true
	case number >= 5000 && number < 5100: // timed out on send or receive
		return true
	case number >= 7000 && number < 7100: // slurmdbd
		return true
	case number == 2027 || number == 2131: // controller in standby
		return true
	}
	return false
}

// kinds says what a refusal of slurmctld means to the federation. What is a property of the site (its partitions, nodes,
// limits, features) is ErrCapacity even where Slurm says "invalid": another site may well take the job. What is the user's
// or the account's standing at the site is ErrDenied. ErrInvalid is for what no site can take, since it makes the job fail.
var kinds = map[int]error{
	wire.ErrPartition:         federation.ErrCapacity,
	wire.ErrNoPartition:       federation.ErrCapacity,
	wire.ErrAccess:            federation.ErrDenied,
	2003:                      federation.ErrDenied, // group may not use the partition
	wire.ErrNodesNotInPart:    federation.ErrCapacity,
	wire.ErrTooManyCPUs:       federation.ErrCapacity,
	wire.ErrNodeCount:         federation.ErrCapacity,
	2007:                      federation.ErrLimit,   // MaxJobCount reached
	2008:                      federation.ErrInvalid, // no size
	2009:                      federation.ErrInvalid, // no script
	wire.ErrUserID:            federation.ErrDenied,  // the site does not know the user
	wire.ErrTooLong:           federation.ErrInvalid,
	2013:                      federation.ErrCapacity, // cannot start at once
	wire.ErrNodeConfig:        federation.ErrCapacity,
	wire.ErrPartConfig:        federation.ErrCapacity,
	wire.ErrNodesBusy:         federation.ErrCapacity,
	wire.ErrJobID:             federation.ErrDenied, // on submit: this token may not choose job IDs
	wire.ErrNodeName:          federation.ErrCapacity,
	wire.ErrScriptIO:          federation.ErrUnavailable, // the controller's disk; a missing environment we never send
	2023:                      federation.ErrInvalid,     // distribution
	wire.ErrTaskCount:         federation.ErrInvalid,
	wire.ErrFeature:           federation.ErrCapacity,
	wire.ErrDependency:        federation.ErrInvalid,
	2040:                      federation.ErrCapacity, // licenses in use
	2044:                      federation.ErrCapacity, // memory
	wire.ErrAccount:           federation.ErrDenied,
	wire.ErrLicenses:          federation.ErrCapacity,
	wire.ErrAccountingPolicy:  federation.ErrLimit, // slurmrestd does not pass on which
	wire.ErrTimeLimit:         federation.ErrCapacity,
	wire.ErrReservationAccess: federation.ErrDenied,
	wire.ErrReservation:       federation.ErrCapacity,
	wire.ErrTimeValue:         federation.ErrInvalid,
	2056:                      federation.ErrCapacity, // reservation not usable now
	2057:                      federation.ErrDenied,   // wckey
	2061:                      federation.ErrUnavailable,
	wire.ErrNoWorkDir:         federation.ErrInvalid,
	wire.ErrQOS:               federation.ErrDenied,
	wire.ErrNodeNotAvail:      federation.ErrCapacity,
	2069:                      federation.ErrCapacity, // CPU count
	2070:                      federation.ErrCapacity, // partition inactive
	wire.ErrGRES:              federation.ErrCapacity,
	2079:                      federation.ErrCapacity, // switches
	wire.ErrArray:             federation.ErrCapacity, // syntax was checked before: what is left is the site's MaxArraySize
	2090:                      federation.ErrUnavailable,
	wire.ErrPartitionDown:     federation.ErrCapacity,
	2105:                      federation.ErrCapacity, // submissions disabled
	wire.ErrTRES:              federation.ErrCapacity,
	2119:                      federation.ErrInvalid, // GRES with and without type
	wire.ErrNice:              federation.ErrInvalid,
	wire.ErrTimeMin:           federation.ErrCapacity,
	wire.ErrEnvironment:       federation.ErrInvalid,
	wire.ErrParse:             federation.ErrInvalid, // slurmrestd does not understand the request: a defect of ours
	wire.ErrConvert:           federation.ErrInvalid,
}

// refusal turns an entry of errors[] of a submission into an error. A number that is in no table is a refusal all the
// same, and the site is not asked again for this job.
func refusal(e wire.Error) error {
	kind, ok := kinds[e.Number]
	switch {
	case ok:
	case e.Number >= 9000 && e.Number < 10000:
		kind = federation.ErrInvalid
	case e.Number >= 2000 && e.Number < 3000, e.Number >= 6000 && e.Number < 7000: // the latter: who asks is nobody's user
		kind = federation.ErrDenied
	default:
		kind = federation.ErrUnavailable
	}
	return slurmError(kind, e, "")
}

// acted turns the number of a refused cancel, signal, hold or release into an error.
func acted(number int, text, detail string) error {
	kind := federation.ErrDenied
	switch number {
	case wire.ErrJobID:
		kind = federation.ErrNotFound
	case wire.ErrAlreadyDone, wire.ErrJobPending, wire.ErrNotPending, wire.ErrJobStarted, wire.ErrJobFinished, wire.ErrNotRunning, 2020, 2077, 2086:
		kind = federation.ErrConflict
	default:
		if unavailable(number) || number < 2000 {
			kind = federation.ErrUnavailable
		}
	}
	return slurmError(kind, wire.Error{Number: number, Text: text}, detail)
}

// slurmError makes a federation.SlurmError of e. Text is Slurm's sentence, as much of it as slurmrestd reports.
func slurmError(kind error, e wire.Error, detail string) error {
	return &federation.SlurmError{Kind: kind, Number: e.Number, Text: cmp.Or(e.Text, wire.Strerror(e.Number), e.Description), Detail: detail}
}
