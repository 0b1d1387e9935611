package steps

import "time"

// limit is a step's own time limit. Its zero value: there is none. It stands still while the run is suspended.
type limit struct {
	timer  *time.Timer
	left   time.Duration // at since
	since  time.Time
	stands bool
}

func (l *limit) pause() {
	if l.timer == nil || l.stands || !l.timer.Stop() { // it is over
		return
	}
	l.left -= time.Since(l.since)
	l.stands = true
}

func (l *limit) resume() {
	if l.stands {
		l.since, l.stands = time.Now(), false
		l.timer.Reset(l.left)
	}
}

// arm has a step's own time limit begin, if it has one: then is called when it is over. The caller
// calls what is returned when the step is over.
func (b *table) arm(s *step, then func()) (disarm func()) {
	if s.req.Timeout <= 0 {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.limit = limit{timer: time.AfterFunc(s.req.Timeout, then), left: s.req.Timeout, since: time.Now()}
	if b.paused { // it was asked for just before
		s.limit.pause()
	}
	return func() { s.limit.timer.Stop() }
}

// pause has the time limits of all steps stand still, or go on.
func (b *table) pause(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paused = on
	for _, s := range b.active {
		if on {
			s.limit.pause()
		} else {
			s.limit.resume()
		}
	}
}

// Pause implements [Steps].
func (s *Service) Pause(name string) { s.pause(name, true) }

// Resume implements [Steps].
func (s *Service) Resume(name string) { s.pause(name, false) }

func (s *Service) pause(name string, on bool) {
	if r := s.run(name); r != nil && r.table != nil {
		r.table.pause(on)
	}
}
