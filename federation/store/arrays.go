package store

import (
	"time"

	"fsub/federation"
)

// arrayPart is how a [federation.ArrayPart] is stored.
type arrayPart struct {
	Array                 federation.JobID
	Index                 int
	Count, Min, Max, Step int
	Limit                 int
	Last                  bool `json:",omitempty"`
}

// arrayWhole is how a [federation.ArrayWhole] is stored.
type arrayWhole struct {
	Count, Min, Max, Step int
	Limit                 int
	Spread                bool
	Cancelled             []cancelledTasks `json:",omitempty"`
}

// cancelledTasks are stored as ranges.
type cancelledTasks struct {
	Tasks    string
	End      time.Time
	Cancel   bool   `json:",omitempty"`
	CancelBy uint32 `json:",omitempty"`
}

func wholeOf(a *federation.ArrayWhole) *arrayWhole {
	if a == nil {
		return nil
	}
	w := &arrayWhole{Count: a.Count, Min: a.Min, Max: a.Max, Step: a.Step, Limit: a.Limit, Spread: a.Spread}
	for _, c := range a.Cancelled {
		w.Cancelled = append(w.Cancelled, cancelledTasks{c.Tasks.Format(0), c.End, c.Cancel, c.CancelBy})
	}
	return w
}

// domain is w as the domain has it. Many requests may have taken an array apart further than one may: that is read, too.
func (w *arrayWhole) domain(r *row) *federation.ArrayWhole {
	if w == nil {
		return nil
	}
	a := &federation.ArrayWhole{Count: w.Count, Min: w.Min, Max: w.Max, Step: w.Step, Limit: w.Limit, Spread: w.Spread}
	for _, c := range w.Cancelled {
		tasks, err := federation.ReadTasks(c.Tasks)
		if err != nil && r.err == nil {
			r.err = err
		}
		a.Cancelled = append(a.Cancelled, federation.CancelledTasks{Tasks: tasks, End: c.End, Cancel: c.Cancel, CancelBy: c.CancelBy})
	}
	return a
}
