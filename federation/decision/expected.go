package decision

import (
	"fmt"
	"time"
)

// Expected is how long a job is expected to run on nodes of speed 1, from what jobs like it did before. It is not changed once it is made.
type Expected struct {
	P50  time.Duration `json:"p50"`           // half of such jobs run no longer
	P90  time.Duration `json:"p90"`           // nine in ten run no longer
	Runs int           `json:"runs"`          // how many runs of the nearest kind it stands on
	Of   string        `json:"of"`            // that kind: "of that name and size"
	Cut  int           `json:"cut,omitempty"` // how many of the runs were cut short: those say only that one takes longer
}

// From is what it stands on: "12 earlier runs of that name and size"; of nil "its time limit".
func (e *Expected) From() string {
	switch {
	case e == nil || e.Runs == 0:
		return "its time limit"
	case e.Runs == 1:
		return "1 earlier run " + e.Of
	}
	return fmt.Sprintf("%d earlier runs %s", e.Runs, e.Of)
}
