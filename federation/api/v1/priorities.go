package v1

import (
	"slices"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/slurm/wire"
)

// Priorities are what GET /fed/v1/priorities answers.
type Priorities struct {
	Jobs []Priority `json:"jobs"`
	wire.Reply
}

// Priority is what the priority of a waiting job is made of. The tasks of an array that wait are one.
type Priority struct {
	Job       federation.JobID        `json:"job_id"` // its number
	Cluster   string                  `json:"cluster"`
	Partition string                  `json:"partition"`
	User      string                  `json:"user"`
	Account   string                  `json:"account"`
	QOS       string                  `json:"qos"`
	Priority  int64                   `json:"priority"`        // what the parts add up to; without parts, as squeue shows it
	Nice      int64                   `json:"nice,omitempty"`  // is taken off
	Parts     []decision.PriorityPart `json:"parts,omitempty"` // none: there is no fair-share
}

// Sum is what all parts add up to.
func (p *Priority) Sum() int64 {
	sum := 0.0
	for _, part := range p.Parts {
		sum += part.Points
	}
	return int64(sum)
}

// Points is the sum of the parts of these names.
func (p *Priority) Points(names ...string) (sum float64) {
	for _, part := range p.Parts {
		if slices.Contains(names, part.Name) {
			sum += part.Points
		}
	}
	return sum
}
