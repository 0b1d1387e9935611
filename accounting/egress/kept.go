package egress

import (
	"errors"
	"fmt"
	"time"
)

// Kept is a copy of what a job keeps from one run to the next (#FSUB --keep).
type Kept struct {
	Bytes int64
	At    time.Time // it was whole, by the node's clock
	Place string    // where it lies, as in [Site]; "": in the federation's own store, beside the daemon
}

// ErrDamaged: there are copies of what a job keeps, and none of them is whole. The job was not started: its user decides whether it is to begin without them.
var ErrDamaged = errors.New("no copy of what the job keeps is whole")

// Saving is what it costs to save so many copies of bytes each while a job runs at a site for so long: what leaves the site each time, and the room in the store, where two of them
// lie until the store's time for them is over. ok is false where that costs nothing by what is known, as in [Home].
func Saving(from Site, by Store, bytes int64, copies int, run time.Duration) (m Move, ok bool) {
	if bytes <= 0 || copies < 1 {
		return Move{}, false
	}
	if from.Place != "" || from.PerGB != nil {
		m, ok = Between(from, Site{Name: "the store", Place: by.Place}, bytes*int64(copies))
		if ok {
			m.Detail = fmt.Sprintf("%d x %s, %s", copies, Text(bytes), m.Detail)
		}
	}
	if room, costs := by.room(2*bytes, run+by.Keep); costs && by.Place != "" {
		if ok {
			m.Detail += " + "
		}
		m.Dollars, m.Detail, ok = m.Dollars+room.Dollars, m.Detail+room.Detail, true
	}
	return m, ok
}
