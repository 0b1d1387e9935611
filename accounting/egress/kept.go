package egress

import "time"

// Kept is a copy of what a job keeps from one run to the next (#FSUB --keep).
type Kept struct {
	Bytes int64
	At    time.Time // it was whole, by the node's clock
	Place string    // where it lies, as in [Site]; "": in the federation's own store, beside the daemon
}
