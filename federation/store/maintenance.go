package store

import (
	"context"
	"fmt"
	"time"

	"fsub/federation"
	"fsub/federation/audit"
	"fsub/federation/journal"
)

const (
	insertMaintenance = "INSERT INTO maintenance (site, nodes, begins, ends, reason, set_by, at) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id"
	selectMaintenance = "SELECT id, site, nodes, begins, ends, reason, set_by, at FROM maintenance WHERE removed_at = 0 AND ends > $1 ORDER BY begins, id"
	removeMaintenance = "UPDATE maintenance SET (removed_by, removed_at) = ($1, $2) WHERE id = $3 AND removed_at = 0"
	maintenanceOf     = "SELECT id, site, nodes, begins, ends, reason, set_by, at FROM maintenance WHERE id = $1 AND removed_at = 0"

	maintenanceWord = "MAINTENANCE"
)

// AddMaintenance implements [federation.SiteStore].
func (s *fleet) AddMaintenance(ctx context.Context, m *federation.Maintenance, audit ...audit.Entry) error {
	id := int64(0)
	err := s.writer.submit(ctx, func(t *tx) error {
		ids, err := t.numbers(insertMaintenance, string(m.Site), m.Nodes, nanos(m.From), nanos(m.To), m.Reason, m.By, nanos(m.At))
		if err != nil {
			return err
		}
		id = ids[0]
		t.note(journal.Change{Kind: journal.ChangeMaintenance, How: journal.Created, Site: m.Site, Number: id})
		if _, err = t.exec(insertSiteEvent, string(m.Site), nanos(m.At), m.By, "", maintenanceWord, planned(m)); err != nil {
			return err
		}
		return t.audit(audit)
	})
	if err != nil {
		return fmt.Errorf("plan maintenance of site %s: %w", m.Site, err)
	}
	m.ID = id
	return nil
}

func planned(m *federation.Maintenance) string {
	nodes := m.Nodes
	if nodes == "" {
		nodes = "all nodes"
	}
	return fmt.Sprintf("%s from %s to %s: %s", nodes, m.From.UTC().Format(time.RFC3339), m.To.UTC().Format(time.RFC3339), m.Reason)
}

// RemoveMaintenance implements [federation.SiteStore].
func (s *fleet) RemoveMaintenance(ctx context.Context, id int64, by string, at time.Time, audit ...audit.Entry) error {
	found, err := query(ctx, s.readers, readMaintenance, maintenanceOf, id)
	if err == nil && len(found) == 0 {
		err = federation.ErrNotFound
	}
	if err == nil {
		m := &found[0]
		err = s.writer.submit(ctx, func(t *tx) error {
			n, err := t.exec(removeMaintenance, by, nanos(at), id)
			if err != nil || n == 0 { // somebody else was faster
				return err
			}
			t.note(journal.Change{Kind: journal.ChangeMaintenance, How: journal.Gone, Site: m.Site, Number: id})
			if _, err = t.exec(insertSiteEvent, string(m.Site), nanos(at), by, maintenanceWord, "", planned(m)); err != nil {
				return err
			}
			return t.audit(audit)
		})
	}
	if err != nil {
		return fmt.Errorf("take back maintenance %d: %w", id, err)
	}
	return nil
}

// Maintenance implements [federation.SiteStore].
func (s *fleet) Maintenance(ctx context.Context, at time.Time) ([]federation.Maintenance, error) {
	all, err := query(ctx, s.readers, readMaintenance, selectMaintenance, nanos(at))
	if err != nil {
		return nil, fmt.Errorf("list maintenance: %w", err)
	}
	return all, nil
}

func readMaintenance(r *row) federation.Maintenance {
	return federation.Maintenance{
		ID: r.int(), Site: federation.SiteName(r.text()), Nodes: r.text(), From: r.time(), To: r.time(), Reason: r.text(), By: r.text(), At: r.time(),
	}
}
