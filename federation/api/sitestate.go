package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/plain"
	"fsub/federation/share"
)

// siteHistory bounds the lines that are told of one site.
const siteHistory = 200

// Show is GET /fed/v1/site/{name}. A site that has left the federation has its history still.
func (s *sites) Show(r *http.Request, c identity.Caller) (v1.SiteDetail, error) {
	ctx, name := r.Context(), federation.SiteName(r.PathValue("name"))
	said, err := s.Store.SiteState(ctx)
	if err != nil {
		return v1.SiteDetail{}, answer.OfStore(err, answer.NoContact)
	}
	record, known := said[name]
	site := s.member(name)
	if site == nil && !known {
		return v1.SiteDetail{}, unknownSite(name)
	}
	v := v1.SiteDetail{Site: v1.Site{Name: name, State: federation.FedRemoved, Conditions: []v1.Condition{}}, Maintenance: []v1.Maintenance{}, History: []v1.SiteWas{}}
	if site != nil {
		running, err := s.running(ctx)
		if err != nil {
			return v1.SiteDetail{}, err
		}
		v.Site = s.describe(site)
		v.Running = running[name]
		if s.Elsewhere != nil {
			v.Accounts = s.Elsewhere(c, site)
		}
	}
	v.StateWhy, v.By, v.At = record.Reason, record.By, record.At
	events, err := s.Store.SiteEvents(ctx, name, siteHistory)
	if err != nil {
		return v1.SiteDetail{}, answer.OfStore(err, answer.NoContact)
	}
	for _, e := range events {
		v.History = append(v.History, v1.SiteWas{Time: e.At, Who: e.Who, From: e.From, To: e.To, Why: e.Why})
	}
	planned, err := s.Store.Maintenance(ctx, s.Now())
	if err != nil {
		return v1.SiteDetail{}, answer.OfStore(err, answer.NoContact)
	}
	for i := range planned {
		if planned[i].Site == name {
			v.Maintenance = append(v.Maintenance, v1.MaintenanceOf(&planned[i]))
		}
	}
	return v, nil
}

func (s *sites) member(name federation.SiteName) *federation.Site {
	all := s.Sites()
	if i := slices.IndexFunc(all, func(site *federation.Site) bool { return site.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

func unknownSite(name federation.SiteName) error {
	return &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q in the federation; see: fed site list", name)}
}

// SetState is POST /fed/v1/site/{name}/state.
func (s *sites) SetState(r *http.Request, c identity.Caller, req *v1.SetSiteState) (v1.SiteSet, error) {
	switch req.State {
	case federation.FedActive, federation.FedInactive, federation.FedDrain, federation.FedDrainRemove:
	case "":
		if req.Lost {
			break
		}
		fallthrough
	default:
		return v1.SiteSet{}, answer.BadBody(fmt.Sprintf("unknown state %q: use ACTIVE, INACTIVE, DRAIN or DRAIN+REMOVE", req.State))
	}
	if err := plain.Check("reason", req.Reason, plain.MaxReason); err != nil {
		return v1.SiteSet{}, invalid("%v", err)
	}
	name := federation.SiteName(r.PathValue("name"))
	said, err := s.Store.SiteState(r.Context())
	if err != nil {
		return v1.SiteSet{}, answer.OfStore(err, answer.NoContact)
	}
	was, known := said[name]
	was.State = cmp.Or(was.State, federation.FedActive)
	site := s.member(name)
	if site == nil && !(known && was.State == federation.FedRemoved && req.State == federation.FedActive) {
		return v1.SiteSet{}, unknownSite(name)
	}
	now := s.Now().UTC()
	next := federation.SiteRecord{Name: name, State: req.State, Reason: req.Reason, By: c.Name, At: now, Lost: was.Lost}
	switch {
	case req.Lost && strings.TrimSpace(req.Reason) == "":
		return v1.SiteSet{}, invalid("a site that is lost needs a reason: its jobs run again elsewhere, and others have to know why")
	case req.Lost && site.Answering:
		return v1.SiteSet{}, invalid("site %s answers, so its jobs may run there: they would run twice. To empty it run: fed site set %s INACTIVE, or fed job move --where site=%s", name, name, name)
	case req.Lost:
		if next.Lost = now; was.State == federation.FedDrainRemove {
			next.State = was.State
		} else {
			next.State = federation.FedDrain
		}
	case req.State == federation.FedActive:
		next.Lost = time.Time{}
	}
	entry := audit.Entry{At: now, Who: answer.By(c), Verb: siteVerb(req), Kind: audit.Site, Object: string(name), Before: was.Word(), After: next.Word(), Why: req.Reason}
	if err := s.Store.SetSiteState(r.Context(), next, entry); err != nil {
		return v1.SiteSet{}, answer.OfStore(err, answer.TimedOut)
	}
	s.Wake()
	out := v1.SiteSet{Name: name, State: next.Word(), Was: was.Word(), Reason: next.Reason, By: next.By}
	if site != nil {
		running, err := s.running(r.Context())
		if err != nil {
			return v1.SiteSet{}, err
		}
		out.Running = running[name]
		out.Bound = max(len(site.Bound)-out.Running, 0)
	}
	return out, nil
}

// siteVerb is the word of fed that gives a site a state.
func siteVerb(req *v1.SetSiteState) string {
	switch {
	case req.Lost:
		return "lost"
	case req.State == federation.FedActive:
		return "resume"
	case req.State == federation.FedDrain:
		return "drain"
	case req.State == federation.FedDrainRemove:
		return "remove"
	}
	return strings.ToLower(string(req.State))
}

// Test is POST /fed/v1/site/{name}/test.
func (s *sites) Test(r *http.Request, _ identity.Caller) ([]v1.SiteCheck, error) {
	name := federation.SiteName(r.PathValue("name"))
	if s.member(name) == nil {
		return nil, unknownSite(name)
	}
	if s.Check == nil {
		return nil, invalid("sites cannot be tried here")
	}
	again := share.Idle(r.Context())
	checks, err := s.Check(r.Context(), name)
	again()
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	out := []v1.SiteCheck{}
	for _, c := range checks {
		out = append(out, v1.SiteCheck{Name: c.Name, Result: c.Result, Detail: c.Detail, Advice: c.Advice})
	}
	return out, nil
}

// Join is POST /fed/v1/sites.
func (s *sites) Join(r *http.Request, c identity.Caller, req *v1.AddSite) (v1.Site, error) {
	if s.Add == nil {
		return v1.Site{}, invalid("sites cannot be added here")
	}
	entry := audit.Entry{At: s.Now().UTC(), Who: answer.By(c), Verb: "add", Kind: audit.Site, After: string(federation.FedActive)}
	again := share.Idle(r.Context()) // it is looked at
	name, err := s.Add(r.Context(), *req, entry)
	again()
	if err != nil {
		return v1.Site{}, invalid("%v", err)
	}
	s.Wake()
	return v1.Site{Name: name, State: federation.FedActive, Conditions: []v1.Condition{}}, nil
}

// Update is POST /fed/v1/site/{name}/update.
func (s *sites) Update(r *http.Request, c identity.Caller, req *v1.UpdateSite) (v1.Site, error) {
	name := federation.SiteName(r.PathValue("name"))
	switch {
	case s.Change == nil:
		return v1.Site{}, invalid("sites cannot be changed here")
	case (req.Config == "") == (len(req.Set) == 0):
		return v1.Site{}, invalid("give the whole description, or keys of it with their values")
	}
	entry := audit.Entry{At: s.Now().UTC(), Who: answer.By(c), Verb: "update", Kind: audit.Site, Object: string(name)}
	again := share.Idle(r.Context()) // it is looked at
	err := s.Change(r.Context(), name, *req, entry)
	again()
	if err != nil {
		return v1.Site{}, invalid("%v", err)
	}
	s.Wake()
	return v1.Site{Name: name, Conditions: []v1.Condition{}}, nil
}
