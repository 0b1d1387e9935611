package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/plain"
	"fsub/slurm/hostlist"
)

// Maintenance is GET /fed/v1/maintenance.
func (s *sites) Maintenance(ctx context.Context, _ identity.Caller, _ v1.None) ([]v1.Maintenance, error) {
	out := []v1.Maintenance{}
	all, err := s.Store.Maintenance(ctx, s.Now())
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for i := range all {
		out = append(out, v1.MaintenanceOf(&all[i]))
	}
	return out, nil
}

// Plan is POST /fed/v1/maintenance.
func (s *sites) Plan(r *http.Request, c identity.Caller, req *v1.Maintenance) (v1.Maintenance, error) {
	if err := s.check(req); err != nil {
		return v1.Maintenance{}, err
	}
	now := s.Now().UTC()
	m := federation.Maintenance{Site: req.Site, Nodes: req.Nodes, From: req.From.UTC(), To: req.To.UTC(), Reason: req.Reason, By: c.Name, At: now}
	err := s.Store.AddMaintenance(r.Context(), &m, audit.Entry{At: now, Who: answer.By(c), Verb: "add", Kind: audit.Maintenance,
		Object: maintenanceObject(&m), After: m.From.Format(time.RFC3339) + " to " + m.To.Format(time.RFC3339), Why: m.Reason})
	if err != nil {
		return v1.Maintenance{}, answer.OfStore(err, answer.TimedOut)
	}
	s.Wake()
	return v1.MaintenanceOf(&m), nil
}

func maintenanceObject(m *federation.Maintenance) string {
	if m.Nodes == "" {
		return string(m.Site)
	}
	return string(m.Site) + "/" + m.Nodes
}

func (s *sites) check(req *v1.Maintenance) error {
	req.Reason = strings.TrimSpace(req.Reason)
	site := s.member(req.Site)
	if err := plain.Check("reason", req.Reason, plain.MaxReason); err != nil {
		return invalid("%v", err)
	}
	switch {
	case site == nil:
		return unknownSite(req.Site)
	case req.Reason == "":
		return invalid("a maintenance needs a reason: users read it in fed explain")
	case !req.To.After(req.From):
		return invalid("the maintenance ends (%s) before it begins (%s)", req.To.UTC().Format(time.RFC3339), req.From.UTC().Format(time.RFC3339))
	case !req.To.After(s.Now()):
		return invalid("the maintenance is over: it was to end at %s", req.To.UTC().Format(time.RFC3339))
	case req.Nodes == "":
		return nil
	}
	names, err := hostlist.Expand(req.Nodes)
	if err != nil {
		return invalid("invalid hostlist %q: %v", req.Nodes, err)
	}
	if site.Seen == nil {
		return nil
	}
	var missing []string
	for _, name := range names {
		if !slices.ContainsFunc(site.Seen.Nodes, func(n federation.Node) bool { return n.Name == name }) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("site %s has no node %s; see: fed node list", req.Site, hostlist.Compress(missing))}
	}
	req.Nodes = hostlist.Compress(names)
	return nil
}

// TakeBack is DELETE /fed/v1/maintenance/{number}.
func (s *sites) TakeBack(r *http.Request, c identity.Caller) (v1.Maintenance, error) {
	id, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return v1.Maintenance{}, invalid("invalid number %q of a maintenance; see: fed maintenance list", r.PathValue("number"))
	}
	now := s.Now().UTC()
	planned, err := s.Store.Maintenance(r.Context(), now)
	if err != nil {
		return v1.Maintenance{}, answer.OfStore(err, answer.NoContact)
	}
	err = s.Store.RemoveMaintenance(r.Context(), id, c.Name, now, audit.Entry{At: now, Who: answer.By(c), Verb: "remove", Kind: audit.Maintenance,
		Object: strconv.FormatInt(id, 10)})
	if errors.Is(err, federation.ErrNotFound) {
		return v1.Maintenance{}, &federation.SlurmError{Kind: federation.ErrNotFound, Text: fmt.Sprintf("no maintenance %d is planned; see: fed maintenance list", id)}
	}
	if err != nil {
		return v1.Maintenance{}, answer.OfStore(err, answer.TimedOut)
	}
	s.Wake()
	out := v1.Maintenance{ID: id}
	if i := slices.IndexFunc(planned, func(m federation.Maintenance) bool { return m.ID == id }); i >= 0 {
		out = v1.MaintenanceOf(&planned[i])
	}
	return out, nil
}
