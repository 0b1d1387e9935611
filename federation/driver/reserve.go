package driver

import (
	"context"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
)

// Reserver keeps nodes of its site for one job that is to start there later, as a reservation of Slurm's.
type Reserver interface {
	// Reserve makes the reservation, or makes the one of that name what is asked for. What was reserved before stays if it fails. ErrInvalid: this site cannot.
	// ErrDenied: the token may not. ErrConflict: the nodes are reserved for others, or it cannot be changed any more. ErrUnavailable: it may have been done.
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

// PromiseName is what the reservation for a job is called at each site.
func PromiseName(fed string, id federation.JobID) string {
	return promisePrefix + fed + "_" + id.String()
}

// PromisedTo is the job for which a federation has made a reservation; 0: the federation has not made it.
func PromisedTo(fed, name string) federation.JobID {
	number, ours := strings.CutPrefix(name, promisePrefix+fed+"_")
	if !ours {
		return 0
	}
	id, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return 0
	}
	return federation.JobID(id)
}
