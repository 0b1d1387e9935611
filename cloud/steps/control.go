package steps

import (
	"fmt"
	"syscall"

	"fsub/cloud/agentapi"
	"fsub/cloud/steps/wire"
)

// Signal implements [Steps].
func (s *Service) Signal(name, step string, sig syscall.Signal) error {
	r := s.run(name)
	if r == nil || r.books == nil {
		return fmt.Errorf("steps: run %s is not led here", name)
	}
	for _, a := range r.books.live(step) {
		a.toNodes(wire.Signal, uint32(sig), nil)
	}
	return nil
}

// Stop implements [Steps].
func (s *Service) Stop(name string, stop Stop) {
	if r := s.run(name); r != nil && r.books != nil {
		r.books.close()
		for _, a := range r.books.live("") {
			a.stop(stop)
		}
	}
}

// Status implements [Steps].
func (s *Service) Status(name string) []agentapi.Step {
	if r := s.run(name); r != nil && r.books != nil {
		return r.books.status()
	}
	return nil
}
