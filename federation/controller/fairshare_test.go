package controller

import (
	"maps"
	"testing"

	"fsub/federation"
)

// Of a partition that several sites have the highest PriorityJobFactor counts, and of all default partitions for jobs that name none.
func TestJobFactors(t *testing.T) {
	part := func(name string, normal bool, factor int) federation.Partition {
		p := federation.Partition{Name: name, Default: normal}
		if factor >= 0 {
			p.Info = &federation.PartitionInfo{JobFactor: factor}
		}
		return p
	}
	say := func(parts ...federation.Partition) *site {
		return &site{Site: federation.Site{Seen: &federation.Observation{Partitions: parts}}}
	}
	q := &queue{sites: &roster{all: []*site{say(part("main", true, 2), part("fast", false, 9)), {}, say(part("batch", true, -1), part("fast", false, 4), part("none", false, 0))}}}
	if got, want := q.jobFactors(), map[string]int{"": 2, "main": 2, "fast": 9, "batch": 1, "none": 0}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
