// Package ended has what is counted of jobs that have ended, of which there may be millions: a [Counter] is asked instead of reading them.
package ended

import (
	"context"

	"fsub/federation"
	"fsub/federation/reasons"
)

// Counter counts jobs that have ended.
type Counter interface {
	// CountEnded calls take with counts of the jobs that have ended, of one user or, without a name, of all. It counts some ten thousand jobs at a time, so the same
	// comes again in several calls. Components are left out, and so are whole arrays, whose tasks are not all jobs (JobQuery.Arrays has those). It ends with the first error of take.
	CountEnded(ctx context.Context, user string, take func([]Count) error) error
}

// Count is how many jobs that have ended have all of this in common.
type Count struct {
	User, Account, Group string
	State                federation.State
	Reason               reasons.Reason
	Site                 federation.SiteName
	Jobs                 int64
}
