package decision

import (
	"fmt"
	"math"
	"strings"
)

// PriorityPart is what something counts in a job's priority.
type PriorityPart struct {
	Name   string  `json:"name"`
	Points float64 `json:"points"`
}

// The names of parts. Those of Slurm's factors mean what they mean there.
const (
	PriorityFairShare = "fair-share"
	PriorityAge       = "age"
	PriorityWork      = "expected work"
	PriorityQOS       = "QOS"
	PriorityPartition = "partition"
	PrioritySize      = "size"
	PriorityLate      = "over a soft limit"
	PriorityTop       = "moved to the top"
	PriorityNice      = "nice"
	PrioritySet       = "set by an operator"
	PriorityFirst     = "first, after waiting for longer than starve_after"
)

// PriorityText is "100012 = fair-share 100000 + age 36 - expected work 24". Parts of less than half a point are left out.
func PriorityText(parts []PriorityPart) string {
	var b strings.Builder
	sum := 0.0
	for i, p := range parts {
		sum += p.Points
		if math.Abs(p.Points) < .5 && (b.Len() > 0 || i+1 < len(parts)) {
			continue
		}
		sign := " + "
		switch first := b.Len() == 0; {
		case first && p.Points < 0:
			sign = "-"
		case first:
			sign = ""
		case p.Points < 0:
			sign = " - "
		}
		fmt.Fprintf(&b, "%s%s %.0f", sign, p.Name, math.Abs(p.Points))
	}
	return fmt.Sprintf("%.0f = %s", math.Trunc(sum), b.String())
}
