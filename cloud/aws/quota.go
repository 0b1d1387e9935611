package aws

import (
	"strings"

	"fsub/cloud/provider"
)

// EC2 counts vCPUs by groups of families, for on-demand machines and for spot ones, as Service
// Quotas names them: "Running On-Demand G and VT instances". So what one type of a group is refused
// for (VcpuLimitExceeded, MaxSpotInstanceCountExceeded) no larger one of it can have. Those of
// reservations were counted when they were made.

// quotaGroups are the groups by the letters of their families, the longer first.
var quotaGroups = []struct{ letters, group string }{
	{"hpc", "HPC"}, {"inf", "Inf"}, {"trn", "Trn"}, {"mac", ""}, {"dl", "DL"}, {"vt", "G and VT"}, {"u-", "High Memory"}, {"u7", "High Memory"},
	{"f", "F"}, {"g", "G and VT"}, {"p", "P"}, {"x", "X"},
	{"a", standard}, {"c", standard}, {"d", standard}, {"h", standard}, {"i", standard}, {"m", standard}, {"r", standard}, {"t", standard}, {"z", standard},
}

const standard = "Standard"

// quotaOf is the group that a type counts to; "" if it is not known, and of reservations.
func quotaOf(typ string, market provider.Market) string {
	if market != provider.OnDemand && market != provider.Spot {
		return ""
	}
	for _, q := range quotaGroups {
		if !strings.HasPrefix(typ, q.letters) {
			continue
		}
		if q.group == "P" && market == provider.Spot && len(typ) > 1 && typ[1] >= '5' { // P5 has a quota of its own there
			return "P" + typ[1:2]
		}
		return q.group
	}
	return ""
}
