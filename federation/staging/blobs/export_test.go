package blobs

// SetFree has the store see so much room, each time it looks.
func (s *Store) SetFree(free func() (uint64, error)) { s.free = free }
