package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

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

// startTime is for how long a daemon that starts waits for its database, which may start at the same time. After that the daemon ends with an error.
const startTime = time.Minute

// whenBack opens something in the database, and tries again while that is away.
func whenBack[T any](ctx context.Context, log *slog.Logger, open func() (T, error)) (T, error) {
	told := false
	for deadline := time.Now().Add(startTime); ; {
		opened, err := open()
		if !store.Away(err) || time.Now().After(deadline) {
			return opened, err
		}
		if !told {
			log.Warn("the database is waited for", "at_most", startTime, "err", store.Explained(err))
			told = true
		}
		select {
		case <-time.After(time.Second / 2):
		case <-ctx.Done():
			return opened, ctx.Err()
		}
	}
}

var errReplaced = errors.New("a standby took over the database, or it is another one: the daemon must start again and compare it with the sites")

// lostTime bounds how long the new primary is asked for what it does not have.
const lostTime = 30 * time.Second

// watchStore ends the daemon when its database is not the one that it was started on: the next one compares it with the sites.
func watchStore(ctx context.Context, st *store.Store, log *slog.Logger) error {
	select {
	case <-st.Replaced():
	case <-ctx.Done():
	}
	select {
	case <-st.Replaced():
		nameLost(ctx, st, log)
		return errReplaced
	default:
		return nil
	}
}

// nameLost writes to the log which jobs users were told are submitted, and are not in the database since a standby took over.
func nameLost(ctx context.Context, st *store.Store, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostTime)
	defer cancel()
	lost, err := st.Lost(ctx)
	if err != nil {
		log.Error("the database could not be asked which acknowledged jobs it lacks", "err", err)
	}
	for _, j := range lost {
		log.Error("a job is lost that its user was told is submitted: the standby that took over lacks it. It must be submitted again; what has reached a site runs on there", "job", j.ID, "user", j.User)
	}
}
