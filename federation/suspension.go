package federation

import "time"

// Suspension is when a job was suspended or resumed last, and how long it had run until then: Slurm's SuspendTime and SecsPreSuspend. A job that is suspended keeps its
// nodes, which go on costing, and its time limit does not run. The zero value: it was never suspended.
type Suspension struct {
	At  time.Time
	Ran time.Duration
}

// Elapsed is how long a job that began at start has run by now, without the times when it was suspended. suspended: it is so now.
func (s Suspension) Elapsed(start, now time.Time, suspended bool) time.Duration {
	switch {
	case !s.At.IsZero() && suspended:
		return s.Ran
	case !s.At.IsZero():
		return s.Ran + max(now.Sub(s.At), 0)
	case start.IsZero():
		return 0
	}
	return max(now.Sub(start), 0)
}

// Suspended is how long in all the job was suspended by now.
func (s Suspension) Suspended(start, now time.Time, suspended bool) time.Duration {
	if s.At.IsZero() || start.IsZero() {
		return 0
	}
	return max(now.Sub(start)-s.Elapsed(start, now, suspended), 0)
}

// Suspend is s of a job that runs and is suspended now, Resume of one that is suspended and goes on.
func (s Suspension) Suspend(start, now time.Time) Suspension {
	return Suspension{At: now, Ran: s.Elapsed(start, now, false)}
}

func (s Suspension) Resume(now time.Time) Suspension { return Suspension{At: now, Ran: s.Ran} }
