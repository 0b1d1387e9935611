package steps

import (
	"fmt"
	"syscall"

	"fsub/cloud/agentapi"
)

// Signal implements [Steps].
func (s *Service) Signal(name, step string, sig syscall.Signal) error {
	r := s.run(name)
	if r == nil || r.table == nil {
		return fmt.Errorf("steps: run %s is not led here", name)
	}
	live := r.table.live(step)
	if step != "" && len(live) == 0 {
		return ErrNoStep
	}
	for _, a := range live {
		a.signal(sig)
	}
	return nil
}

// Cancel implements [Steps].
func (s *Service) Cancel(name, step string, by uint32) error {
	r := s.run(name)
	if r == nil || r.table == nil {
		return fmt.Errorf("steps: run %s is not led here", name)
	}
	live := r.table.live(step)
	if len(live) == 0 {
		return ErrNoStep
	}
	for _, a := range live {
		a.mu.Lock()
		a.tally.by = &by
		a.mu.Unlock()
		a.stop(Stop{Why: agentapi.WhyCancel})
	}
	return nil
}

// Stop implements [Steps].
func (s *Service) Stop(name string, stop Stop) {
	if r := s.run(name); r != nil && r.table != nil {
		r.table.close()
		for _, a := range r.table.live("") {
			a.stop(stop)
		}
	}
}

// Waiting is how many steps of a run that this machine leads wait for what others hold.
func (s *Service) Waiting(name string) int {
	r := s.run(name)
	if r == nil || r.table == nil {
		return 0
	}
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	return len(r.table.waiting)
}

// Status implements [Steps].
func (s *Service) Status(name string) []agentapi.Step {
	if r := s.run(name); r != nil && r.table != nil {
		return r.table.status()
	}
	return nil
}
