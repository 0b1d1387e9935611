package api

import (
	"fmt"
	"net/http"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/reports"
)

// savedReports answers for reports that are made again and again.
type savedReports struct {
	owned[reports.Saved, v1.SavedReport]
	Runner *reports.Runner // nil: nothing is saved
}

func (s *savedReports) routes(t *table) {
	s.owned.routes(t)
	do(t, "POST", s.Noun.One("{name}/run"), v1.ForOwners, "Make and deliver a saved report now", s.run).Query = whose
}

func newSavedReports(c *Config) *savedReports {
	s := &savedReports{owned[reports.Saved, v1.SavedReport]{Noun: &v1.SavedReports, Now: c.Now}, c.Reports}
	if s.Make, s.Shown = s.checked, s.shown; c.Reports != nil {
		s.Kept = reports.In(c.Store)
	}
	return s
}

func (s *savedReports) shown(one *reports.Saved) v1.SavedReport {
	return v1.SavedReport{User: one.Owner, Name: one.Name, Report: one.Kind, By: one.By, Every: one.Every, Last: one.Last, Where: one.Spec.Where, Format: one.Format, Send: one.Send, At: one.At, Mail: one.To,
		Saved: one.Made, Sent: one.Sent, SentTo: one.State.Where, Next: one.Next(s.Now()), Tries: one.Tries, Error: one.Error}
}

func (s *savedReports) checked(c identity.Caller, q *v1.SavedReport, others []reports.Saved) (one reports.Saved, err error) {
	now := s.Now()
	one.Definition = reports.Definition{Owner: c.Name, UID: c.UID, Name: q.Name, Spec: q.Spec(), Format: q.Format, Send: q.Send, At: q.At, To: q.Mail, Made: now.UTC()}
	if err := s.Runner.Able(&one.Definition); err != nil {
		return one, err
	}
	if err := one.Check(now, s.Runner.Domains, c.Role >= identity.RoleOperator); err != nil {
		return one, err
	}
	mails := len(q.Mail)
	for i := range others {
		mails += len(others[i].To)
	}
	if len(q.Mail) > 0 && mails > reports.MostMails {
		return one, fmt.Errorf("%d addresses in the reports of %s: a user may have %d in all; use an address of a list", mails, c.Name, reports.MostMails)
	}
	one.For = one.Due(now)
	return one, nil
}

// run is POST /fed/v1/report/{name}/run: it is delivered at once, beside its schedule.
func (s *savedReports) run(r *http.Request, c identity.Caller) (v1.DeliveredReport, error) {
	one, err := s.find(r, c)
	if err != nil {
		return v1.DeliveredReport{}, err
	}
	to, err := s.Runner.Deliver(r.Context(), &one)
	if err != nil {
		return v1.DeliveredReport{}, refuseOwned(federation.ErrInvalid, "report %s is not delivered: %v", one.Name, err)
	}
	return v1.DeliveredReport{To: to}, nil
}
