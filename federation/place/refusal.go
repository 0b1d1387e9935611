package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// Refusal tells what sbatch says of a job that no site can ever run: Slurm's number and sentence for it (measured on
// 24.11), with a line of Detail for each reason why not: what came nearest first. It is nil for a job that some site can run, or may be able to: that one
// waits.
func Refusal(d decision.Decision) *federation.SlurmError {
	if !d.Impossible() || len(d.Rejections) == 0 {
		return nil
	}
	near := nearest(d.Rejections)
	number, text := slurmSays(near, d.Rejections)
	kind := federation.ErrInvalid
	if number == 2002 || number == 2045 || number == 2052 || number == 2066 {
		kind = federation.ErrDenied
	}
	return &federation.SlurmError{Kind: kind, Number: number, Said: slurmSaysBefore(near), Text: text, Detail: strings.Join(WhyNowhere(d.Rejections), "\n")}
}

// WhyNowhere says of all places why a job cannot run there, a line for each reason, grouped as [Summarize] does; what is beyond some lines is counted. First come those where the user has no rights: they may have what the job asks for.
func WhyNowhere(all []decision.Rejection) (lines []string) {
	groups, near := grouped(all), nearest(all)
	if len(groups) == 0 && near != nil { // only of what nobody asked for
		groups = []*alike{{sites: []federation.SiteName{near.Site}, first: near, pools: 1, whole: near.Pool == "" && near.Partition == ""}}
	}
	order := func(g *alike) int {
		switch g.first.Reason {
		case reasons.UnknownUser, reasons.Account, reasons.QOS:
			return len(nearness) + 1
		}
		return rank(g.first)
	}
	slices.SortStableFunc(groups, func(a, b *alike) int { return cmp.Compare(order(b), order(a)) })
	const most = 7
	for _, g := range groups[:min(len(groups), most)] {
		text := g.first.Text()
		if where := g.where(); where != "" {
			text = where + ": " + text
		}
		if g.differ {
			text += ", or the like"
		}
		lines = append(lines, text)
	}
	if more := len(groups) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d nearness more", more))
	}
	return lines
}

// slurmSaysBefore is what slurmctld 24.11 tells the user before its sentence.
func slurmSaysBefore(near *decision.Rejection) string {
	switch {
	case near.Is(codes.NoPartition):
		return "invalid partition specified: " + strings.Join(near.Why.Args, "")
	case near.Is(codes.MemoryOnNode):
		return "Memory specification can not be satisfied"
	case near.Is(codes.TmpDisk):
		return "Temporary disk specification can not be satisfied"
	}
	return ""
}

// slurmSays is the error of Slurm 24.11 for the nearest rejection. Where it has a special sentence for something that no
// node has, all pools that came so far must agree.
func slurmSays(near *decision.Rejection, all []decision.Rejection) (int, string) {
	agreed := func(code codes.Code) bool {
		for i := range all {
			if all[i].Reason == near.Reason && !all[i].Is(code) {
				return false
			}
		}
		return true
	}
	switch near.Reason {
	case reasons.Partition:
		return 2000, "Invalid partition name specified"
	case reasons.RootOnly:
		return 2002, "Access/permission denied"
	case reasons.UnknownUser, reasons.Account:
		return 2045, "Invalid account or account/partition combination specified"
	case reasons.QOS:
		return 2066, "Invalid qos specification"
	case reasons.Reservation:
		if near.Is(codes.NoReservation) {
			return 2053, "Requested reservation is invalid"
		}
		return 2052, "Access denied to requested reservation"
	case reasons.PartitionTime:
		return 2051, "Requested time limit is invalid (missing or exceeds some limit)"
	case reasons.Unsupported:
		if agreed(codes.NoLicenses) || agreed(codes.NoLicense) || agreed(codes.FewLicenses) {
			return 2048, "Invalid license specification"
		}
	case reasons.MaxCost, reasons.QOSTime:
		return 2050, "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
	case reasons.GRES:
		if agreed(codes.NoSuchGRES) {
			return 2072, "Invalid generic resource (gres) specification"
		}
	case reasons.BadConstraints:
		if agreed(codes.NoSuchFeature) {
			return 2029, "Invalid feature specification"
		}
	case reasons.ReqNodeNotAvail:
		switch {
		case agreed(codes.NoSuchNode), agreed(codes.BothLists):
			return 2018, "Invalid node name specified"
		case agreed(codes.TooFewCPUs):
			return 2178, "Requested topology configuration is not available"
		}
	}
	return 2014, "Requested node configuration is not available"
}
