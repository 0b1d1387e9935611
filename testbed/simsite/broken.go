package simsite

// BreakNode has every job that starts on a node alone do the same there, whatever its script says, as on a node whose GPU or file system is broken. nil
// mends it.
func (s *Site) BreakNode(name string, does *Behaviour) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = map[string]*Behaviour{}
	}
	if s.broken[name] = does; does == nil {
		delete(s.broken, name)
	}
}
