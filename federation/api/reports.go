package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reports"
)

// savedReports answers for reports that are made again and again.
type savedReports struct {
	Runner *reports.Runner // nil: nothing is saved
	Now    func() time.Time
}

// mostSaved bounds how many reports a user may have.
const mostSaved = 50

func refuseReport(kind error, format string, args ...any) error {
	return &federation.SlurmError{Kind: kind, Text: fmt.Sprintf(format, args...), Alone: true}
}

// able refuses where nothing is saved. Who comes with a token, as from inside a job, may look only: what is saved acts with all rights of its owner.
func (s *savedReports) able(c identity.Caller, change bool) error {
	switch {
	case s.Runner == nil:
		return refuseReport(federation.ErrNotFound, "this daemon saves no reports")
	case change && c.From != "socket":
		return refuseReport(federation.ErrDenied, "reports are saved, run and removed on the daemon's machine only")
	}
	return nil
}

// List is GET /fed/v1/reports: a user's own; an operator sees all.
func (s *savedReports) List(ctx context.Context, c identity.Caller, _ v1.None) ([]v1.SavedReport, error) {
	if err := s.able(c, false); err != nil {
		return nil, err
	}
	all, err := s.Runner.Store.SavedReports(ctx)
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	out := []v1.SavedReport{}
	for i := range all {
		if one := &all[i]; one.Owner == c.Name || c.Role >= identity.RoleOperator {
			out = append(out, s.shown(one))
		}
	}
	return out, nil
}

func (s *savedReports) shown(one *reports.Saved) v1.SavedReport {
	return v1.SavedReport{User: one.Owner, Name: one.Name, Report: one.Kind, By: one.By, Every: one.Every, Last: one.Last, Where: one.Spec.Where, Format: one.Format, Send: one.Send, At: one.At, Mail: one.To,
		Saved: one.Made, Sent: one.Sent, SentTo: one.State.Where, Next: one.Next(s.Now()), Tries: one.Tries, Error: one.Error}
}

// Save is POST /fed/v1/reports.
func (s *savedReports) Save(r *http.Request, c identity.Caller, q *v1.SavedReport) (v1.SavedReport, error) {
	if err := s.able(c, true); err != nil {
		return v1.SavedReport{}, err
	}
	now := s.Now()
	one := reports.Saved{Definition: reports.Definition{Owner: c.Name, UID: c.UID, Name: q.Name, Spec: q.Spec(), Format: q.Format, Send: q.Send, At: q.At, To: q.Mail, Made: now.UTC()}}
	if err := s.Runner.Able(&one.Definition); err != nil {
		return v1.SavedReport{}, refuseReport(federation.ErrInvalid, "%v", err)
	}
	if err := one.Check(now, s.Runner.Domains, c.Role >= identity.RoleOperator); err != nil {
		return v1.SavedReport{}, refuseReport(federation.ErrInvalid, "%v", err)
	}
	all, err := s.Runner.Store.SavedReports(r.Context())
	if err != nil {
		return v1.SavedReport{}, answer.OfStore(err, answer.NoContact)
	}
	others, mails := 0, len(q.Mail)
	for i := range all {
		if all[i].Owner == c.Name && all[i].Name != q.Name {
			others++
			mails += len(all[i].To)
		}
	}
	if others >= mostSaved {
		return v1.SavedReport{}, refuseReport(federation.ErrInvalid, "%d reports are saved already: a user may have %d; to remove one: fed report remove NAME", others, mostSaved)
	}
	if len(q.Mail) > 0 && mails > reports.MostMails {
		return v1.SavedReport{}, refuseReport(federation.ErrInvalid, "%d addresses in the reports of %s: a user may have %d in all; use an address of a list", mails, c.Name, reports.MostMails)
	}
	one.For = one.Due(now)
	if err := s.Runner.Store.SaveReport(r.Context(), &one, s.entry(c, "save", c.Name, q)); err != nil {
		return v1.SavedReport{}, answer.OfStore(err, answer.NoContact)
	}
	return s.shown(&one), nil
}

func (s *savedReports) entry(c identity.Caller, verb, owner string, q *v1.SavedReport) federation.AuditEntry {
	return federation.AuditEntry{At: s.Now(), Who: answer.By(c), Verb: verb + "-report", Kind: federation.AuditReport, Object: owner + "/" + q.Name, After: q.Report}
}

// find is a report of the caller, or of the user that an operator names.
func (s *savedReports) find(r *http.Request, c identity.Caller) (*reports.Saved, error) {
	if err := s.able(c, true); err != nil {
		return nil, err
	}
	owner, name := r.URL.Query().Get("user"), r.PathValue("name")
	if owner == "" {
		owner = c.Name
	}
	if owner != c.Name && c.Role < identity.RoleOperator {
		return nil, refuseReport(federation.ErrDenied, "reports of others are for operators")
	}
	all, err := s.Runner.Store.SavedReports(r.Context())
	if err != nil {
		return nil, answer.OfStore(err, answer.NoContact)
	}
	for i := range all {
		if all[i].Owner == owner && all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, refuseReport(federation.ErrNotFound, "%s has no report %q; see: fed report list", owner, name)
}

// Remove is DELETE /fed/v1/report/{name}.
func (s *savedReports) Remove(r *http.Request, c identity.Caller) (v1.None, error) {
	one, err := s.find(r, c)
	if err != nil {
		return v1.None{}, err
	}
	err = s.Runner.Store.RemoveReport(r.Context(), one.Owner, one.Name, s.entry(c, "remove", one.Owner, &v1.SavedReport{Name: one.Name}))
	if err != nil && !errors.Is(err, federation.ErrNotFound) {
		return v1.None{}, answer.OfStore(err, answer.NoContact)
	}
	return v1.None{}, nil
}

// Run is POST /fed/v1/report/{name}/run: it is delivered at once, beside its schedule.
func (s *savedReports) Run(r *http.Request, c identity.Caller) (v1.DeliveredReport, error) {
	one, err := s.find(r, c)
	if err != nil {
		return v1.DeliveredReport{}, err
	}
	to, err := s.Runner.Deliver(r.Context(), one)
	if err != nil {
		return v1.DeliveredReport{}, refuseReport(federation.ErrInvalid, "report %s is not delivered: %v", one.Name, err)
	}
	return v1.DeliveredReport{To: to}, nil
}
