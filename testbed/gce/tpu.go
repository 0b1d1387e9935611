package gce

// node is a TPU node: the hosts of one slice.
type node struct{ name string }

// queuedTPU is a queued resource.
type queuedTPU struct{}

// preemptNode takes a whole slice back.
func (c *Cloud) preemptNode(*node) {}
