// Package leftovers finds out which things that a provider has made for its gangs, besides machines, are needed by none any more: placement groups, templates, instance
// groups. A provider lists them and deletes what a [Tracker] says.
package leftovers

import (
	"sync"
	"time"
)

// every is the least time between two looks. A thing goes at the second look that finds its gang without machines: a machine may be missing from a listing for some seconds
// after its start.
const every = 2 * time.Minute

// Tracker remembers which gangs are being made, and what was without machines at the last look. After the start of the daemon, and whenever a gang has made such a thing, a
// look is due until nothing is left. The zero value is ready; its methods may be called from several goroutines.
type Tracker struct {
	mu      sync.Mutex
	busy    map[string]int // gangs that are being made
	clear   bool           // nothing is left
	at      time.Time      // of the last look
	orphans map[string]bool
}

// Begin says that a gang's things are needed, whatever the listing shows, until End. more: it makes some.
func (t *Tracker) Begin(gang string, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy == nil {
		t.busy = map[string]int{}
	}
	t.busy[gang]++
	if more {
		t.clear = false
	}
}

// End says that a gang is made, or is not.
func (t *Tracker) End(gang string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy[gang]--; t.busy[gang] == 0 {
		delete(t.busy, gang)
	}
}

// Due reports whether it is time for a look, and takes it as begun.
func (t *Tracker) Due(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clear || !t.at.IsZero() && now.Sub(t.at) < every {
		return false
	}
	t.at = now
	return true
}

// Thing is one that a gang has made.
type Thing struct {
	Gang, Name string
	Kind, Zone string // as the provider has them
	Drop       func() error
}

// Orphaned returns those of all things whose gangs were without machines at the last look and are so now. live are the gangs with machines.
func (t *Tracker) Orphaned(all []Thing, live map[string]bool) []Thing {
	t.mu.Lock()
	defer t.mu.Unlock()
	var twice []Thing
	seen := map[string]bool{}
	for _, one := range all {
		if live[one.Gang] || t.busy[one.Gang] > 0 {
			continue
		}
		if t.orphans[one.Name] {
			twice = append(twice, one)
		}
		seen[one.Name] = true
	}
	t.orphans = seen
	t.clear = len(all) == 0 && len(t.busy) == 0
	return twice
}
