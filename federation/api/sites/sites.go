// Package sites lists the members of the federation and takes the words of operators about them. What was said is written to the store; the
// controller carries it out. [Sites] is all there is.
package sites

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/audit"
	"fsub/federation/api/identity"
	"fsub/federation/api/refusal"
	v1 "fsub/federation/api/v1"
)

// Sites answers for the members of the federation.
type Sites struct {
	Store federation.Store
	Sites func() []*federation.Site
	Wake  func() // the store has something for the controller
	Now   func() time.Time
}

// List is GET /fed/v1/sites.
func (s *Sites) List(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	said, err := s.Store.SiteState(r.Context())
	if err != nil {
		return refusal.OfStore(err, refusal.NoContact)
	}
	running, err := s.running(r.Context())
	if err != nil {
		return err
	}
	out := []v1.Site{}
	for _, site := range s.Sites() {
		v := describe(site)
		v.StateWhy = said[site.Name].Reason
		v.Running = running[site.Name]
		out = append(out, v)
	}
	return answer.JSON(w, out)
}

// running counts the jobs of ours that hold nodes at each site.
func (s *Sites) running(ctx context.Context) (map[federation.SiteName]int, error) {
	jobs, err := s.Store.Jobs(ctx, federation.JobQuery{
		States: []federation.State{federation.Configuring, federation.Running, federation.Suspended, federation.Completing},
	})
	if err != nil {
		return nil, refusal.OfStore(err, refusal.NoContact)
	}
	n := map[federation.SiteName]int{}
	for _, j := range jobs {
		n[j.Site]++
	}
	return n, nil
}

func describe(site *federation.Site) v1.Site {
	v := v1.Site{
		Name: site.Name, State: site.State,
		Answering: site.Answering, Error: site.Error, ErrorSince: site.ErrorSince,
		Bound: len(site.Bound),
	}
	o := site.Seen
	if o == nil {
		return v
	}
	v.Seen, v.Cluster, v.Version, v.Mode, v.Warnings = later(site.SeenAt, o.At), o.Cluster, o.Version, o.Mode, o.Warnings
	v.Nodes = len(o.Nodes)
	for i := range o.Nodes {
		n := &o.Nodes[i]
		usable := n.Usable()
		if usable && slices.Contains(n.State, "IDLE") {
			v.NodesIdle++
		}
		for _, g := range n.GRES {
			if g.Name != "gpu" {
				continue
			}
			v.GPUs += g.Total
			if usable {
				v.GPUsFree += g.Total - g.Used
			}
		}
	}
	return v
}

// SetState is POST /fed/v1/site/{name}/state.
func (s *Sites) SetState(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	var req v1.SetSiteState
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&req); err != nil {
		return refusal.BadBody(err.Error())
	}
	switch req.State {
	case federation.FedActive, federation.FedInactive, federation.FedDrain:
	default:
		return refusal.BadBody(fmt.Sprintf("unknown state %q: use ACTIVE, INACTIVE or DRAIN", req.State))
	}
	name := federation.SiteName(r.PathValue("name"))
	known := slices.ContainsFunc(s.Sites(), func(site *federation.Site) bool { return site.Name == name })
	if !known {
		return &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no site %q in the federation; see: fed site list", name)}
	}
	was, err := s.Store.SiteState(r.Context())
	if err != nil {
		return refusal.OfStore(err, refusal.NoContact)
	}
	err = s.Store.SetSiteState(r.Context(), federation.SiteRecord{
		Name: name, State: req.State, Reason: req.Reason, By: c.Name, At: s.Now().UTC(),
	}, federation.AuditEntry{
		At: s.Now().UTC(), Who: audit.By(c), Verb: verbOf(req.State), Kind: federation.AuditSite, Object: string(name),
		Before: string(cmp.Or(was[name].State, federation.FedActive)), After: string(req.State), Why: req.Reason,
	})
	if err != nil {
		return refusal.OfStore(err, refusal.TimedOut)
	}
	s.Wake()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// verbOf is the word of fed that gives a site a state.
func verbOf(state federation.FedState) string {
	switch state {
	case federation.FedActive:
		return "resume"
	case federation.FedDrain:
		return "drain"
	}
	return strings.ToLower(string(state))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
