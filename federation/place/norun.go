package place

import (
	"slices"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// NoneRuns says for each of the sites why it cannot run a job that was judged, the nearest reason of each. It is nil if one of them can.
func NoneRuns(d *decision.Decision, sites []federation.SiteName) (why []decision.Rejection) {
	if slices.ContainsFunc(d.Offers, func(o *decision.Offer) bool { return slices.Contains(sites, o.Site) }) {
		return nil
	}
	for _, name := range sites {
		var there []decision.Rejection
		for _, r := range d.Rejections {
			if r.Site == name {
				there = append(there, r)
			}
		}
		if near := nearest(there); near != nil {
			why = append(why, *near)
		} else {
			why = append(why, decision.Rejection{Site: name, Reason: reasons.SiteUnavailable})
		}
	}
	return why
}
