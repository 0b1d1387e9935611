package store

import (
	"context"
	"fmt"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/journal"
)

const (
	upsertSite = "INSERT INTO sites (name, state, reason, set_by, at, lost) VALUES ($1, $2, $3, $4, $5, $6) " +
		"ON CONFLICT (name) DO UPDATE SET (state, reason, set_by, at, lost) = ($2, $3, $4, $5, $6)"
	selectSites = "SELECT name, state, reason, set_by, at, lost FROM sites"

	siteEventColumns = "site, at, who, was, is_now, why"
	insertSiteEvent  = "INSERT INTO site_events (" + siteEventColumns + ") VALUES ($1, $2, $3, $4, $5, $6)"
	// What it was is what the record says before it is written.
	insertSiteWord = "INSERT INTO site_events (" + siteEventColumns + ") SELECT $1, $2, $3, " +
		"COALESCE((SELECT CASE WHEN lost <> 0 THEN 'LOST' ELSE state END FROM sites WHERE name = $1), 'ACTIVE'), $4, $5"
	selectSiteEvents = "SELECT " + siteEventColumns + " FROM (SELECT seq, " + siteEventColumns + " FROM site_events WHERE site = $1 " +
		"ORDER BY seq DESC LIMIT $2) AS newest ORDER BY seq"
	deleteSiteEvents = "DELETE FROM site_events WHERE seq IN (SELECT seq FROM site_events WHERE at < $1 LIMIT $2)"
)

// SetSiteState implements [federation.SiteStore].
func (s *fleet) SetSiteState(ctx context.Context, r federation.SiteRecord, audit ...audit.Entry) error {
	err := s.writer.submit(ctx, func(t *tx) error {
		t.note(journal.Change{Kind: journal.ChangeSite, Site: r.Name, State: r.Word(), Who: r.By, Why: r.Reason})
		if _, err := t.exec(insertSiteWord, string(r.Name), nanos(r.At), r.By, r.Word(), r.Reason); err != nil {
			return err
		}
		if _, err := t.exec(upsertSite, string(r.Name), string(r.State), r.Reason, r.By, nanos(r.At), nanos(r.Lost)); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("set state of site %s: %w", r.Name, err)
	}
	return nil
}

// SiteState implements [federation.SiteStore].
func (s *fleet) SiteState(ctx context.Context) (map[federation.SiteName]federation.SiteRecord, error) {
	all, err := query(ctx, s.readers, readSite, selectSites)
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
		Name: federation.SiteName(r.text()), State: federation.FedState(r.text()), Reason: r.text(), By: r.text(), At: r.time(), Lost: r.time(),
	}
}

// siteSteps are what writes the events of sites of a batch.
func siteSteps(b *journal.Batch, steps []step) []step {
	for i := range b.SiteEvents {
		e := &b.SiteEvents[i]
		args := []any{string(e.Site), nanos(e.At), e.Who, e.From, e.To, e.Why}
		steps = append(steps, step{insertSiteEvent, args, "event of site " + string(e.Site), 0, journal.Change{Kind: journal.ChangeSiteEvent, Of: e}})
	}
	return steps
}

// SiteEvents implements [federation.SiteStore].
func (s *fleet) SiteEvents(ctx context.Context, site federation.SiteName, limit int) ([]federation.SiteEvent, error) {
	all, err := query(ctx, s.readers, readSiteEvent, selectSiteEvents, string(site), int64(limit))
	if err != nil {
		return nil, fmt.Errorf("history of site %s: %w", site, err)
	}
	return all, nil
}

func readSiteEvent(r *row) federation.SiteEvent {
	return federation.SiteEvent{Site: federation.SiteName(r.text()), At: r.time(), Who: r.text(), From: r.text(), To: r.text(), Why: r.text()}
}
