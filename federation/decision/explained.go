package decision

import "time"

// Explained is why a job is where it is.
type Explained struct {
	// Decision is what placement said when the job was bound, or says now if it waits.
	Decision Decision
	// Components are what placement says of each component of a heterogeneous job that waits, if it were a job of its own. Those start together.
	Components []Decision
	// Waits are what keeps it from being sent to a site, whatever is free: the most important first. A job that has any does not wait for nodes.
	Waits []Wait
	// Holdbacks are what of the account tree keeps it waiting.
	Holdbacks []Holdback
	// KeptOff are the switches and blocks that a waiting job of several nodes is kept off.
	KeptOff []KeptOff
	// Sooner is what would have a waiting job start sooner.
	Sooner []Sooner
	// Priority is what a waiting job's place in the queue is made of; nil: its nice alone.
	Priority []PriorityPart
	// Path is how long the longest path of its workflow takes from a waiting job on, the job included; 0: that does not matter to its place in the queue.
	Path time.Duration
}

// Holdback is something of the account tree that keeps a job waiting.
type Holdback struct {
	Kind    HoldbackKind `json:"kind"`
	Text    string       `json:"text"`              // in one line
	Details []string     `json:"details,omitempty"` // who holds what of it
	Free    []string     `json:"free,omitempty"`    // what would free it, or do without it
}

// HoldbackKind is what holds a job back.
type HoldbackKind string

const (
	HeldByLimit     HoldbackKind = "limit"
	HeldByBudget    HoldbackKind = "budget"
	HeldByGuarantee HoldbackKind = "guarantee" // its account's, or those of others
)
