package decision

import (
	"time"

	"fsub/federation/ident"
)

// Outlook foretells how long jobs wait in the queue of a site that others use too, as things stand there at one time. It is not changed once it is
// made, and may be used by several goroutines.
type Outlook interface {
	// Wait is how long a job waits that is submitted now; nil: nothing is known.
	Wait(QueueAsk) *Foreseen
	// Left is how much longer one of ours waits that has been waiting there; nil: nothing is known.
	Left(ident.JobID, QueueAsk) *Foreseen
	// Bounds corrects a wait that follows from the time limits of what runs: most jobs end before their limits. Half of such waits are over within p50, which is never longer
	// than byLimits; p90 is never shorter, for what runs may run as long as it may.
	Bounds(byLimits time.Duration) (p50, p90 time.Duration)
}

// QueueAsk is what a site's queue sees of a job, in the site's names.
type QueueAsk struct {
	User, Account, Partition string
	Nodes, CPUs, GPUs        int
	Limit                    time.Duration
}

// Foreseen is how long a job is expected to wait at a site.
type Foreseen struct {
	P50    time.Duration `json:"p50"`              // half of such jobs wait no longer
	P90    time.Duration `json:"p90"`              // nine in ten wait no longer
	Starts int           `json:"starts"`           // how many starts there it stands on
	Of     string        `json:"of"`               // which: "like it, with the queue as it is"
	Unsure string        `json:"unsure,omitempty"` // why the p90 may not hold; "": it should
}

// NotBefore returns f, or what it comes to where nodes cannot be free before p50 and p90, as [Outlook.Bounds] tells them.
func (f *Foreseen) NotBefore(p50, p90 time.Duration) *Foreseen {
	if f.P50 >= p50 && f.P90 >= p90 {
		return f
	}
	later := *f
	if later.P50 < p50 {
		later.P50, later.Of = p50, "from when the jobs that run there are expected to end"
	}
	later.P90 = max(f.P90, p90, later.P50)
	return &later
}

// Likely is the wait that is reckoned with.
func (f *Foreseen) Likely() time.Duration {
	if f.Unsure != "" {
		return f.P90
	}
	return f.P50
}
