package predict

import "time"

const (
	// flowStarts is how many starts the speed of a queue is of. On the traces ten were nearer than twenty or forty; fewer than leastStarts say nothing.
	flowStarts  = 10
	leastStarts = 3
	// flowError is how many times longer than by that speed one wait in ten lasts.
	flowError = 4
)

// flow is how fast jobs of one partition have started of late.
type flow struct {
	starts int
	first  int64 // when the first of them did
	cpus   float64
}

// ended is when a wait was over.
func (w *wait) ended() int64 { return int64(w.since) + int64(w.seconds) }

// add counts a start that came before those counted already. What did not wait has not moved the queue.
func (f *flow) add(w *wait) {
	if f.starts < flowStarts && w.seconds > 0 {
		f.starts, f.first, f.cpus = f.starts+1, w.ended(), f.cpus+float64(w.cpus)
	}
}

// moves is how long a job waits if those before it start as fast as the last ones did, by their number or by their CPUs, whichever is sooner: large jobs wait
// while smaller ones pass them. It is not known where nobody waits, or where fewer than least have started since the queue was first looked at. This is Little's law.
func (s *scene) moves(t *trait, now, from int64, least int) (time.Duration, bool) {
	p := s.parts[t.part]
	if p == nil || p.jobs == 0 || p.flow.starts < least {
		return 0, false
	}
	f := p.flow
	since := f.first
	if f.starts < flowStarts {
		since = from
	}
	seconds := float64(max(now-since, 1))
	wait := (p.jobs + 1) * seconds / float64(f.starts)
	if f.cpus > 0 {
		wait = min(wait, (p.cpus+float64(t.cpus))*seconds/f.cpus)
	}
	return span(wait), true
}
