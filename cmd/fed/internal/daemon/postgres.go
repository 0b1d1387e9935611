package daemon

import (
	"context"
	"errors"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/store"
)

// postgresOf is where the configuration has the state; nil: in a file.
func postgresOf(c *config.Config) *store.Postgres {
	if c.Store == "" {
		return nil
	}
	return &store.Postgres{URL: c.Store, PasswordFile: c.StorePasswordFile, Unsafe: c.StoreUnsafe}
}

// watchStore ends the daemon when its database is not the one that it was started on: the next one compares it with the sites.
func watchStore(ctx context.Context, st *store.Store) error {
	select {
	case <-st.Replaced():
		return errors.New("a standby took over the database, or it is another one: the daemon must start again and compare it with the sites")
	case <-ctx.Done():
		return nil
	}
}
