package decision

import "time"

// Expected is how long a job is expected to run on nodes of speed 1, from what jobs like it did before. It is not changed once it is made.
type Expected struct {
	P50  time.Duration `json:"p50"`           // half of such jobs run no longer
	P90  time.Duration `json:"p90"`           // nine in ten run no longer
	Runs int           `json:"runs"`          // how many runs of the nearest kind it stands on
	Of   string        `json:"of"`            // that kind: "of that name and size"
	Cut  int           `json:"cut,omitempty"` // how many of the runs were cut short: those say only that one takes longer
}
