package logging

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// sitePrefix stands before the name of a site where it has a level.
const sitePrefix = "site:"

// All is the key of the default level.
const All = "all"

// Levels are the least levels that are written. What is set for some time comes before what is set for good.
type Levels struct {
	now      func() time.Time
	least    atomic.Int64             // for good
	override atomic.Pointer[override] // nil: there is none

	mu    sync.Mutex
	known map[string]bool
}

type override struct {
	by    map[string]slog.Level
	until time.Time
}

// Set sets the level of all for good.
func (l *Levels) Set(least slog.Level) { l.least.Store(int64(least)) }

// SetFor sets levels by component, by site ("site:NAME") and of all ("all") for some time, in place of what was set before for some time; none: what is set for good is in force
// again. It fails if there is no such component or site.
func (l *Levels) SetFor(by map[string]slog.Level, long time.Duration) error {
	for key := range by {
		if known := l.Known(); key != All && !slices.Contains(known, key) {
			return fmt.Errorf("nothing is logged under %q: want all, or one of %s", key, strings.Join(known, ", "))
		}
	}
	if len(by) == 0 {
		l.override.Store(nil)
		return nil
	}
	l.override.Store(&override{maps.Clone(by), l.now().Add(long)})
	return nil
}

// State is the level of all, and those that are set for some time: until when. None are: until is zero.
func (l *Levels) State() (least slog.Level, by map[string]slog.Level, until time.Time) {
	least = slog.Level(l.least.Load())
	if o := l.inForce(); o != nil {
		return least, maps.Clone(o.by), o.until
	}
	return least, nil, time.Time{}
}

// Known are the components and sites that have something to log.
func (l *Levels) Known() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.known))
}

func (l *Levels) know(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[key] = true
}

func (l *Levels) inForce() *override {
	o := l.override.Load()
	if o == nil || !l.now().Before(o.until) {
		return nil
	}
	return o
}

// of is the level of what a component logs about a site. Where both have one, the lower counts.
func (l *Levels) of(component, site string) slog.Level {
	o := l.inForce()
	if o == nil {
		return slog.Level(l.least.Load())
	}
	a, has := o.by[component]
	b, also := o.by[site]
	switch {
	case has && also:
		return min(a, b)
	case has:
		return a
	case also:
		return b
	}
	if all, is := o.by[All]; is {
		return all
	}
	return slog.Level(l.least.Load())
}
