package controller

import (
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
)

// leaving is a site, or something that is rented there, that a job is not given for a while.
type leaving struct {
	no    decision.Rejection
	what  string // see decision.LeftOut; "": the whole site
	until time.Time
}

// leaveOut notes that a site is not to be asked again for a while. What is said of it already stays if it holds for longer.
func (j *job) leaveOut(no decision.Rejection, until time.Time) {
	j.hinder().leave(leaving{no: no, until: until})
}

// leaveOutOf notes that a job is not to be given an offering of a site, or spot machines of a zone, for a while.
func (j *job) leaveOutOf(what string, no decision.Rejection, until time.Time) {
	j.hinder().leave(leaving{no: no, what: what, until: until})
}

func (h *hindered) leave(l leaving) {
	list := make([]leaving, 0, len(h.leaves)+1)
	for _, earlier := range h.leaves {
		if earlier.no.Site == l.no.Site && earlier.what == l.what && earlier.until.After(l.until) {
			return
		}
		if earlier.no.Site != l.no.Site || earlier.what != l.what {
			list = append(list, earlier)
		}
	}
	h.leaves = append(list, l)
	h.tellLeaves()
}

// comesBack forgets what has passed. It reports whether that is anything.
func (h *hindered) comesBack(now time.Time) bool {
	if len(h.leaves) == 0 || now.Before(h.refusedUntil) {
		return false
	}
	var list []leaving
	for _, l := range h.leaves {
		if now.Before(l.until) {
			list = append(list, l)
		}
	}
	h.leaves = list
	h.tellLeaves()
	return true
}

// tellLeaves makes what placement is told, anew: what it was told before is its own.
func (h *hindered) tellLeaves() {
	h.refused, h.refusedUntil = nil, time.Time{}
	for _, l := range h.leaves {
		if h.refusedUntil.IsZero() || l.until.Before(h.refusedUntil) {
			h.refusedUntil = l.until
		}
		if h.refused == nil {
			h.refused = map[federation.SiteName]decision.Rejection{}
		}
		r, known := h.refused[l.no.Site]
		switch {
		case l.what == "":
			h.refused[l.no.Site] = l.no
		case known && len(r.Parts) == 0: // the whole site is left out
		default:
			r.Site = l.no.Site
			r.Parts = append(r.Parts, decision.LeftOut{What: l.what, Reason: l.no.Reason, Why: l.no.Why, Detail: l.no.Detail})
			h.refused[l.no.Site] = r
		}
	}
}

// leavesSite reports whether the job is not given a site at all for now.
func (h *hindered) leavesSite(name federation.SiteName, now time.Time) bool {
	for _, l := range h.leaves {
		if l.no.Site == name && l.what == "" && now.Before(l.until) {
			return true
		}
	}
	return false
}

// takenFor is how long a job gets no spot machine of a zone where one was taken from it: the next one would not live longer.
const takenFor = 30 * time.Minute

// rentedOf are what an attempt was to rent: one offer for each component.
func rentedOf(a *federation.Attempt) []decision.Offer {
	if len(a.Decision.Offers) == 0 {
		return nil
	}
	o := a.Decision.Offers[0]
	if len(o.Parts) > 0 {
		return o.Parts
	}
	return []decision.Offer{*o}
}

// leaveZone keeps a job whose spot machines were taken away from their zone.
func (j *job) leaveZone(now time.Time) {
	for _, o := range rentedOf(j.att) {
		if o.Market != "spot" {
			continue
		}
		where := o.Zone
		if where == "" {
			where = o.Offering
		}
		j.leaveOutOf(where, decision.Rejection{Site: j.att.Site, Reason: reasons.StockOut,
			Why: codes.Because(codes.TakenThere, where, now.UTC().Format("15:04Z"))}, now.Add(takenFor))
	}
}

// keepOne lets a job back to where its machines were taken longest ago, if that has happened everywhere that it can run. What a cloud refuses for now is a place
// where it can run too: it is waited for.
func (j *job) keepOne(d decision.Decision) {
	for {
		first := -1
		for i, l := range j.leaves {
			if l.no.Is(codes.TakenThere) && (first < 0 || l.until.Before(j.leaves[first].until)) {
				first = i
			}
		}
		if first < 0 || slices.ContainsFunc(d.Offers, func(o *decision.Offer) bool { return !j.takenIn(o) }) || slices.ContainsFunc(d.Rejections, j.comesLater) {
			return
		}
		h := j.hinder()
		h.leaves = slices.Delete(slices.Clone(h.leaves), first, first+1)
		h.tellLeaves()
	}
}

// comesLater reports whether a rejection is of a rented pool that a cloud refuses for now, and where nothing was taken from the job.
func (h *hindered) comesLater(r decision.Rejection) bool {
	if r.Never || r.Pool == "" || !r.Is(codes.NodesToBeHad) {
		return false
	}
	for _, l := range h.leaves {
		if l.no.Is(codes.TakenThere) && l.no.Site == r.Site && (strings.HasSuffix(r.Pool, "/"+l.what) || strings.HasSuffix(r.Pool, "/"+l.what+"/spot")) {
			return false
		}
	}
	return true
}

// takenIn reports whether spot machines were taken from the job where an offer is.
func (h *hindered) takenIn(o *decision.Offer) bool {
	for _, of := range append([]decision.Offer{*o}, o.Parts...) {
		for _, l := range h.leaves {
			if l.no.Is(codes.TakenThere) && l.no.Site == of.Site && of.Market == "spot" && (l.what == of.Zone || l.what == of.Offering) {
				return true
			}
		}
	}
	return false
}

// leaveGivenBack keeps a job that a site has given back from what it could not have there: from that offering where the cloud has refused it, else from the whole
// site. The site is seen anew before that has passed, and tells itself what it lacks.
func (j *job) leaveGivenBack(no decision.Rejection, until time.Time) {
	switch no.Reason {
	case reasons.StockOut, reasons.Quota, reasons.Price, reasons.Boot:
		offers := rentedOf(j.att)
		named := len(offers) > 0
		for _, o := range offers {
			named = named && o.Offering != ""
		}
		if named {
			for _, o := range offers {
				j.leaveOutOf(o.Offering, no, until)
			}
			return
		}
	}
	j.leaveOut(no, until)
}
