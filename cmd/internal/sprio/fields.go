package sprio

import (
	"strconv"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/federation/decision"
)

type field = show.Field[v1.Priority]

// fields are sprio's columns by their letters, those that are not between 0 and 1.
var fields = map[byte]*field{
	'A': {Header: "AGE", Value: points(decision.PriorityAge)},
	'B': {Header: "ASSOC", Value: points()},
	'c': {Header: "CLUSTER", Value: func(p *v1.Priority) string { return p.Cluster }},
	'F': {Header: "FAIRSHARE", Value: points(decision.PriorityFairShare)},
	'i': {Header: "JOBID", Value: func(p *v1.Priority) string { return p.Job.String() }},
	'J': {Header: "JOBSIZE", Value: points(decision.PrioritySize)},
	'n': {Header: "QOSNAME", Value: func(p *v1.Priority) string { return p.QOS }},
	'N': {Header: "NICE", Value: nice},
	'o': {Header: "ACCOUNT", Value: func(p *v1.Priority) string { return p.Account }},
	'P': {Header: "PARTITION", Value: points(decision.PriorityPartition)},
	'Q': {Header: "QOS", Value: points(decision.PriorityQOS)},
	'r': {Header: "PARTITION", Value: func(p *v1.Priority) string { return p.Partition }},
	'S': {Header: "SITE", Value: points(decision.PriorityWork, decision.PriorityLate, decision.PriorityTop, decision.PrioritySet, decision.PriorityFirst)},
	'T': {Header: "TRES", Value: func(*v1.Priority) string { return "" }},
	'u': {Header: "USER", Value: func(p *v1.Priority) string { return p.User }},
	'Y': {Header: "PRIORITY", Value: func(p *v1.Priority) string { return strconv.FormatInt(p.Priority, 10) }},
}

// points is what parts of these names come to.
func points(names ...string) func(*v1.Priority) string {
	return func(p *v1.Priority) string { return strconv.FormatFloat(p.Points(names...), 'f', 0, 64) }
}

// nice is the job's, which is taken off.
func nice(p *v1.Priority) string { return strconv.FormatInt(p.Nice, 10) }

const letters = `  %A    %B    %c    %F    %i    %J    %n    %N    
%o    %P    %Q    %r    %S    %T    %u    %Y    
`
