package federation

import (
	"time"

	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Prospects are what a forecast of the whole federation begins with: the sites as they are, and who waits. It is not changed after it was made.
type Prospects struct {
	Now   time.Time
	Sites []*Site
	// Waiting are the jobs that may start as far as they themselves are concerned, in the order in which they are looked at.
	Waiting []Prospect
	More    int // so many more wait behind these
	// Ends are when runs of ours are expected to end, by the number that their site has for them.
	Ends map[SiteName]map[JobID]time.Time
	// Numbers are the jobs whose number at their site is another one than ours.
	Numbers map[SiteName]map[JobID]JobID
	// Accounts are those of the account tree.
	Accounts []string
	// Limits are those of the account tree as it is; nil: there is none.
	Limits Limits
}

// Limits are those that keep jobs waiting, with what is used of them and what is reserved: limits of accounts, users and QOS, and budgets. They are for one goroutine.
type Limits interface {
	// With returns a copy in which limits have other values: ACCOUNT:OPTION=VALUE or ACCOUNT/USER:OPTION=VALUE, and of QOS QOS:OPTION=VALUE. Options and values are those
	// of fed account and fed qos.
	With(limits, qos []string) (Limits, error)
	// Check says why a job must not start; "": it may. Without an offer only that counts which is known of it anywhere. A job that is sent already may start.
	Check(now time.Time, j *Job, o *decision.Offer) reasons.Reason
	// Start reserves what a job may come to with an offer.
	Start(now time.Time, j *Job, o *decision.Offer)
	// End gives back what is reserved for a job, and counts what it has used since it started.
	End(now time.Time, id JobID)
}

// Prospect is a job that waits.
type Prospect struct {
	Job      *Job
	Expected *decision.Expected // nil: nothing is known
	At       SiteName           // where it was sent already; "": it waits in the federation's queue
	// Limited: a limit of the account tree keeps it back, the one that Reason names.
	Limited bool
	Reason  reasons.Reason
	Under   []string // the accounts whose limits hold for it, its own and those above
	Refused map[SiteName]decision.Rejection
}
