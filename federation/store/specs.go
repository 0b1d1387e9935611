package store

import (
	"sync"

	"fsub/federation/demand"
	"fsub/sbatch"
)

// readSpec is a Spec with the Demand that follows from it.
type readSpec struct {
	Spec   *sbatch.Spec
	Demand *demand.Demand
}

// specs are Specs by the text that they were read from. Jobs that were submitted by one script in a loop have the same: it is decoded once,
// and all who read such jobs, at any time, share what it points to.
type specs struct {
	mu     sync.RWMutex
	byText map[string]readSpec
	bytes  int // of the texts
}

// What is remembered is bounded by the number of Specs and the length of their texts: some ten megabytes in all.
const (
	maxSpecs     = 10_000
	maxSpecBytes = 8 << 20
)

// read is the job's Spec in the next column of r.
func (s *specs) read(r *row) readSpec {
	text, _ := r.values[r.next].(string)
	s.mu.RLock()
	spec, ok := s.byText[text]
	s.mu.RUnlock()
	if ok {
		r.next++
		return spec
	}
	spec.Spec = new(sbatch.Spec)
	if r.json(spec.Spec); r.err != nil {
		return spec
	}
	spec.Demand = demand.Of(spec.Spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.byText[text]; ok {
		return first
	}
	if s.bytes += len(text); s.byText == nil || len(s.byText) >= maxSpecs || s.bytes > maxSpecBytes {
		s.byText, s.bytes = make(map[string]readSpec), len(text)
	}
	s.byText[text] = spec
	return spec
}
