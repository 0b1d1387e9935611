// Package faults keeps what keeps the daemon from its work in sight: each is one sentence in the log and a notification when it begins and when it ends, and is
// listed meanwhile. [Watch] is all there is; what may be wrong is told by its sources.
package faults

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is something that is wrong. Those of one name are the same fault.
type Fault struct {
	Name  string    // "disk", "site alpha NO_ANSWER"
	Text  string    // one sentence, with what to do
	Since time.Time // zero where a source finds it: the watch knows since when
	// Logged: whoever has found it logs its beginning and end.
	Logged bool
}

// Config is what a watch is made of.
type Config struct {
	Sources []func() []Fault // each returns what is wrong now
	// Tell is called when a fault begins, and when it is over; nil: nobody is told.
	Tell   func(f Fault, over bool)
	Every  time.Duration // between two looks; 0: 5 s
	Logger *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Watch looks at its sources again and again. It is safe for concurrent use.
type Watch struct {
	cfg Config

	mu  sync.Mutex
	now []Fault
}

// New returns a watch that knows of no fault.
func New(cfg Config) *Watch {
	if cfg.Every == 0 {
		cfg.Every = 5 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Watch{cfg: cfg}
}

// Run looks until ctx is done.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		w.Look()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Look asks all sources once.
func (w *Watch) Look() {
	var found []Fault
	for _, source := range w.cfg.Sources {
		found = append(found, source()...)
	}
	slices.SortStableFunc(found, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(a, b Fault) bool { return a.Name == b.Name })
	w.mu.Lock()
	was := w.now
	for i := range found {
		f := &found[i]
		if before := find(was, f.Name); before != nil {
			f.Since = before.Since
		} else if f.Since.IsZero() {
			f.Since = w.cfg.Now().UTC()
		}
	}
	w.now = found
	w.mu.Unlock()
	for _, f := range found {
		if find(was, f.Name) == nil {
			w.tell(f, false)
		}
	}
	for _, f := range was {
		if find(found, f.Name) == nil {
			w.tell(f, true)
		}
	}
}

func find(list []Fault, name string) *Fault {
	if i := slices.IndexFunc(list, func(f Fault) bool { return f.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

func (w *Watch) tell(f Fault, over bool) {
	switch {
	case f.Logged:
	case over:
		w.cfg.Logger.Info("over: "+f.Text, "fault", f.Name, "since", f.Since)
	default:
		w.cfg.Logger.Error(f.Text, "fault", f.Name)
	}
	if w.cfg.Tell != nil {
		w.cfg.Tell(f, over)
	}
}

// Faults are those of now, by name.
func (w *Watch) Faults() []Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.now)
}
