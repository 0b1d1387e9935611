package store

import (
	"context"
	"fmt"

	"fsub/federation"
)

const upsertSite = "INSERT INTO sites (name, state, reason, set_by, at) VALUES ($1, $2, $3, $4, $5) " +
	"ON CONFLICT (name) DO UPDATE SET (state, reason, set_by, at) = ($2, $3, $4, $5)"

// SetSiteState implements [federation.Store].
func (s *Store) SetSiteState(ctx context.Context, r federation.SiteRecord, audit ...federation.AuditEntry) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		t.note(federation.Change{Kind: federation.ChangeSite, Site: r.Name, State: string(r.State)})
		if _, err := t.exec(upsertSite, string(r.Name), string(r.State), r.Reason, r.By, nanos(r.At)); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("set state of site %s: %w", r.Name, err)
	}
	return nil
}

// SiteState implements [federation.Store].
func (s *Store) SiteState(ctx context.Context) (map[federation.SiteName]federation.SiteRecord, error) {
	all, err := query(ctx, s.readers, readSite, "SELECT name, state, reason, set_by, at FROM sites")
	if err != nil {
		return nil, fmt.Errorf("list states of sites: %w", err)
	}
	states := make(map[federation.SiteName]federation.SiteRecord, len(all))
	for _, r := range all {
		states[r.Name] = r
	}
	return states, nil
}

func readSite(r *row) federation.SiteRecord {
	return federation.SiteRecord{
		Name: federation.SiteName(r.text()), State: federation.FedState(r.text()), Reason: r.text(), By: r.text(), At: r.time(),
	}
}
