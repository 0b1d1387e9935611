package restd

import (
	"testing"

	"fsub/federation/reasons"
)

// TestShownReason: a reason of ours that Slurm has a word for is not "Resources", which users read as a wait for nodes.
func TestShownReason(t *testing.T) {
	for reason, want := range map[reasons.Reason]string{
		"":                      "None",
		reasons.Priority:        "Priority",
		reasons.AccountBudget:   "AssocGrpBillingMinutes",
		reasons.Maintenance:     "ReqNodeNotAvail, Reserved for maintenance",
		reasons.Backlog:         "Resources",
		reasons.GRES:            "BadConstraints",
		reasons.UnknownUser:     "InvalidAccount",
		reasons.SiteUnavailable: "Resources",
	} {
		if got := shownReason(reason); got != want {
			t.Errorf("%s is shown as %q, want %q", reason, got, want)
		}
	}
}
