package restd

import (
	"testing"

	"fsub/federation"
)

// TestShownReason: a reason of ours that Slurm has a word for is not "Resources", which users read as a wait for nodes.
func TestShownReason(t *testing.T) {
	for reason, want := range map[federation.Reason]string{
		"":                               "None",
		federation.ReasonPriority:        "Priority",
		federation.ReasonAccountBudget:   "AssocGrpBillingMinutes",
		federation.ReasonMaintenance:     "ReqNodeNotAvail, Reserved for maintenance",
		federation.ReasonBacklog:         "Resources",
		federation.ReasonGRES:            "BadConstraints",
		federation.ReasonUnknownUser:     "InvalidAccount",
		federation.ReasonSiteUnavailable: "Resources",
	} {
		if got := shownReason(reason); got != want {
			t.Errorf("%s is shown as %q, want %q", reason, got, want)
		}
	}
}
