package federation

import "time"

// Prospects are what a forecast of the whole federation begins with: the sites as they are, and who waits. It is not changed after it was made.
type Prospects struct {
	Now   time.Time
	Sites []*Site
	// Waiting are the jobs that may start as far as they themselves are concerned, in the order in which they are looked at.
	Waiting []Prospect
	More    int // so many more wait behind these
	// Ends are when runs of ours are expected to end, by the number that their site has for them.
	Ends map[SiteName]map[JobID]time.Time
	// Accounts are those of the account tree.
	Accounts []string
}

// Prospect is a job that waits.
type Prospect struct {
	Job      *Job
	Expected *Expected // nil: nothing is known
	At       SiteName  // where it was sent already; "": it waits in the federation's queue
	// Limited: a limit of the account tree keeps it back, the one that Reason names.
	Limited bool
	Reason  Reason
	Under   []string // where Limited: the accounts whose limits hold for it, its own and those above
	Refused map[SiteName]Rejection
}
