package apitest

import (
	"context"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/journal"
)

// places is what a Store keeps of sites beside their states.
type places struct {
	events  []federation.SiteEvent
	planned []federation.Maintenance
	ids     int64
}

func (p *places) commit(b *journal.Batch, note func(journal.Change)) {
	for _, e := range b.SiteEvents {
		p.events = append(p.events, e)
		note(journal.Change{Kind: journal.ChangeSiteEvent, Of: &e})
	}
}

// SiteEvents implements federation.SiteStore.
func (s *Store) SiteEvents(_ context.Context, site federation.SiteName, limit int) (out []federation.SiteEvent, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.places.events {
		if e.Site == site {
			out = append(out, e)
		}
	}
	return out[max(len(out)-limit, 0):], s.fail
}

// Maintenance implements federation.SiteStore.
func (s *Store) Maintenance(_ context.Context, at time.Time) (out []federation.Maintenance, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.places.planned {
		if m.To.After(at) {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b federation.Maintenance) int { return a.From.Compare(b.From) })
	return out, s.fail
}

// AddMaintenance implements federation.SiteStore.
func (s *Store) AddMaintenance(_ context.Context, m *federation.Maintenance, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.audit.add(audit)
		s.places.ids++
		m.ID = s.places.ids
		s.places.planned = append(s.places.planned, *m)
		s.note(journal.Change{Kind: journal.ChangeMaintenance, How: journal.Created, Site: m.Site, Number: m.ID})
	}
	return s.fail
}

// RemoveMaintenance implements federation.SiteStore.
func (s *Store) RemoveMaintenance(_ context.Context, id int64, _ string, _ time.Time, audit ...audit.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.places.planned, func(m federation.Maintenance) bool { return m.ID == id })
	switch {
	case s.fail != nil:
		return s.fail
	case i < 0:
		return federation.ErrNotFound
	}
	s.audit.add(audit)
	s.note(journal.Change{Kind: journal.ChangeMaintenance, How: journal.Gone, Site: s.places.planned[i].Site, Number: id})
	s.places.planned = slices.Delete(s.places.planned, i, i+1)
	return nil
}
