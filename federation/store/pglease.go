package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"fsub/federation"
	"fsub/federation/leader"
)

// leaseConns bounds the connections on which a daemon asks for the lease.
const leaseConns = 4

// OpenLease opens the database of c for what the daemons that share it agree on: which of them leads. Unlike [Open] all may do so at once.
func OpenLease(ctx context.Context, c Config) (*sql.DB, error) {
	p, err := newPostgres(&c)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*p.config, stdlib.OptionBeforeConnect(func(_ context.Context, into *pgx.ConnConfig) error {
		config, err := p.current()
		if err == nil {
			*into = *config
		}
		return err
	}))
	db.SetMaxOpenConns(leaseConns)
	db.SetMaxIdleConns(leaseConns) // none is closed while this process lives: others take that for its end
	if err := makeLease(ctx, db); err != nil {
		db.Close()
		return nil, fmt.Errorf("%w: %s: %w", federation.ErrUnavailable, p.name, err)
	}
	return db, nil
}

// makeLease makes the tables, once: daemons that are started together wait for each other.
func makeLease(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockLease)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, leader.Schema); err != nil {
		return err
	}
	return tx.Commit()
}

// Explained is err of a database that [OpenLease] has opened, in words; nil: it says nothing against the database.
func Explained(err error) error {
	if err == nil || errors.Is(err, leader.ErrHeld) || errors.Is(err, leader.ErrLost) {
		return nil
	}
	return databaseError(err)
}
