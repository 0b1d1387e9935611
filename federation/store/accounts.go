package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fsub/federation/accounts"
	"fsub/federation/audit"
)

var _ accounts.Store = (*Store)(nil)

const (
	accountColumns = "kind, account, name, parent, is_default, coordinators, settings, source"
	upsertAccount  = "INSERT INTO account_records (" + accountColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (kind, account, name) DO UPDATE SET " +
		"(parent, is_default, coordinators, settings, source) = ($4, $5, $6, $7, $8)"
	deleteAccount = "DELETE FROM account_records WHERE kind = $1 AND account = $2 AND name = $3"
)

// AccountRecords implements [accounts.Store].
func (s *accountTree) AccountRecords(ctx context.Context) ([]accounts.Record, error) {
	all, err := query(ctx, s.readers, readAccount, "SELECT "+accountColumns+" FROM account_records ORDER BY kind, account, name")
	if err != nil {
		return nil, fmt.Errorf("read the account tree: %w", err)
	}
	return all, nil
}

func readAccount(r *row) accounts.Record {
	a := accounts.Record{Key: readAccountKey(r), Parent: r.text(), Default: r.bool()}
	r.json(&a.Coordinators)
	r.json(&a.Set)
	a.From = r.text()
	return a
}

func readAccountKey(r *row) accounts.Key {
	return accounts.Key{Kind: accounts.Kind(r.text()), Account: r.text(), Name: r.text()}
}

// WriteAccounts implements [accounts.Store].
func (s *accountTree) WriteAccounts(ctx context.Context, changes []accounts.Change, by accounts.Editor, at time.Time, why string) error {
	entries := make([]audit.Entry, len(changes))
	who := audit.Actor{User: by.Name, UID: by.UID, Role: by.Role, From: by.From}
	for i, c := range changes {
		entries[i] = audit.Entry{At: at, Who: who, Verb: c.Verb(), Kind: audit.Object(c.Kind), Object: c.Object(), Before: c.Before.Text(),
			After: c.After.Text(), Why: why}
	}
	type values struct{ coordinators, settings string }
	rows := make([]values, len(changes))
	for i, c := range changes {
		if c.After == nil {
			continue
		}
		list, err := json.Marshal(c.After.Coordinators)
		if err != nil {
			return fmt.Errorf("write %s: %w", c.Key, err)
		}
		set, err := json.Marshal(c.After.Set)
		if err != nil {
			return fmt.Errorf("write %s: %w", c.Key, err)
		}
		rows[i] = values{string(list), string(set)}
	}
	err := s.writer.submit(ctx, func(t *tx) error {
		for i, c := range changes {
			var err error
			if a := c.After; a != nil {
				_, err = t.exec(upsertAccount, string(c.Kind), c.Account, c.Name, a.Parent, a.Default, rows[i].coordinators, rows[i].settings, a.From)
			} else {
				_, err = t.exec(deleteAccount, string(c.Kind), c.Account, c.Name)
			}
			if err != nil {
				return err
			}
		}
		return t.audit(entries)
	})
	if err != nil {
		return fmt.Errorf("write the account tree: %w", err)
	}
	return nil
}

// MadeAt implements [accounts.Store].
func (s *accountTree) MadeAt(ctx context.Context, site string) (map[accounts.Key]bool, error) {
	all, err := query(ctx, s.readers, readAccountKey, "SELECT kind, account, name FROM account_made WHERE site = $1", site)
	if err != nil {
		return nil, fmt.Errorf("what was made in the accounting of %s: %w", site, err)
	}
	made := make(map[accounts.Key]bool, len(all))
	for _, k := range all {
		made[k] = true
	}
	return made, nil
}

// SetMadeAt implements [accounts.Store].
func (s *accountTree) SetMadeAt(ctx context.Context, site string, k accounts.Key, made bool) error {
	text := "DELETE FROM account_made WHERE site = $1 AND kind = $2 AND account = $3 AND name = $4"
	if made {
		text = "INSERT INTO account_made (site, kind, account, name) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
	}
	err := s.writer.submit(ctx, func(t *tx) error {
		_, err := t.exec(text, site, string(k.Kind), k.Account, k.Name)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what was made in the accounting of %s: %w", site, err)
	}
	return nil
}
