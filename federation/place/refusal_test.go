package place

import (
	"testing"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// A refusal names every place with what keeps the job from it: equal reasons together, and first the places where only the user's rights are in the way.
func TestRefusalNamesEveryPlace(t *testing.T) {
	no := func(site federation.SiteName, pool string, reason reasons.Reason, code codes.Code, args ...string) decision.Rejection {
		return decision.Rejection{Site: site, Partition: "main", Pool: pool, Reason: reason, Why: codes.Because(code, args...), Never: true}
	}
	user := no("beta", "", reasons.UnknownUser, codes.NoUser, "dave")
	user.Partition = ""
	d := decision.Decision{Rejections: []decision.Rejection{
		no("alpha", "main/h100", reasons.GRES, codes.NoSuchGRES, "gpu"), user,
		no("aws", "main/g6/a", reasons.GRES, codes.NoSuchGRES, "gpu"), no("aws", "main/g6/b", reasons.GRES, codes.NoSuchGRES, "gpu"),
		no("local", "main/node", reasons.ReqNodeNotAvail, codes.NoSuchNode, "n1"),
	}}
	e := Refusal(d)
	if e == nil {
		t.Fatal("it is not refused")
	}
	const want = "beta: no user dave in its accounting\nlocal main/node: no node n1\nalpha, aws (3 pools): no GRES gpu at the site"
	if e.Detail != want {
		t.Errorf("refused with\n%s\nwant\n%s", e.Detail, want)
	}
}

// Real slurmctlds 22.05, 24.11 and 26.05 say this of nodes without TmpDisk.
func TestTmpDiskInSlurmsWords(t *testing.T) {
	near := decision.Rejection{Reason: reasons.ReqNodeNotAvail, Why: codes.Because(codes.TmpDisk, "1 GiB", "0 MiB")}
	if got := slurmSaysBefore(&near); got != "Temporary disk specification can not be satisfied" {
		t.Errorf("%q", got)
	}
}
