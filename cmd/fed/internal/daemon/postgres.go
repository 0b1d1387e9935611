package daemon

import (
	"context"
	"errors"

	"fsub/cmd/fed/internal/config"
	"fsub/federation/store"
)

// storeConfig says where the state is kept.
func storeConfig(c *config.Config) store.Config {
	return store.Config{Postgres: postgresOf(c), Path: c.StorePath(), FirstID: c.JobIDs.First, LastID: c.JobIDs.Last, KeepFor: c.KeepEvents, RequestsPerJob: c.Limits.RequestsPerJob}
}

// postgresOf is where the configuration has the state; nil: in a file.
func postgresOf(c *config.Config) *store.Postgres {
	if c.Store == "" {
		return nil
	}
	return &store.Postgres{URL: c.Store, PasswordFile: c.StorePasswordFile, Unsafe: c.StoreUnsafe}
}

var errReplaced = errors.New("a standby took over the database, or it is another one: the daemon must start again and compare it with the sites")

// watchStore ends the daemon when its database is not the one that it was started on: the next one compares it with the sites.
func watchStore(ctx context.Context, st *store.Store) error {
	select {
	case <-st.Replaced():
		return errReplaced
	case <-ctx.Done():
		return nil
	}
}
