package driver

import (
	"context"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// Reserver keeps nodes of its site for one job that is to start there later, as a reservation of Slurm's.
type Reserver interface {
	// Reserve makes the reservation, or makes the one of that name what is asked for. What was reserved before stays if it fails. ErrInvalid: this site cannot.
	// ErrDenied: the token may not, or the site does not know the user. ErrConflict: the nodes are reserved for others, or it cannot be changed any more. ErrUnavailable: it may have been done.
	Reserve(ctx context.Context, p Promise) error
	// Unreserve removes the reservation of that name; that there is none is no error. ErrConflict: a job runs in it, or waits for it.
	Unreserve(ctx context.Context, name string) error
}

// Promise is a reservation for one job. No other job starts on its nodes that would run into it. The job itself may start before it begins, run on when it has
// ended, and wait on outside of it. The site removes it by itself when it ends, and when it has begun and no job has been in it for Idle.
type Promise struct {
	Name       string // see [PromiseName]
	User       string // of the job, at the site
	Nodes      []string
	Start, End time.Time
	Idle       time.Duration
}

const promisePrefix = "fsub_"

// PromiseName is what the reservation for a job is called at each site: fsub_fed_30000001, or fsub_fed_30000001.5 for a task of an array. With a dot no name of one federation can be taken
// for one of another whose name begins in the same way.
func PromiseName(fed string, p decision.Promised) string {
	name := promisePrefix + fed + "_" + p.Of().String()
	if p.Array != 0 {
		name += "." + strconv.Itoa(p.Task)
	}
	return name
}

// PromisedTo is the job for which a federation has made a reservation; zero: the federation has not made it.
func PromisedTo(fed, name string) (p decision.Promised) {
	number, ours := strings.CutPrefix(name, promisePrefix+fed+"_")
	if !ours {
		return p
	}
	number, task, of := strings.Cut(number, ".")
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return p
	}
	if !of {
		return decision.Promised{Job: federation.JobID(id)}
	}
	index, err := strconv.ParseUint(task, 10, 31)
	if err != nil {
		return p
	}
	return decision.Promised{Array: federation.JobID(id), Task: int(index)}
}
