package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/federation/store"
)

// seenFile has, in the state directory, how far this daemon has seen the store's log in PostgreSQL: so it notices a copy that was restored over the database.
const seenFile = "store.seen"

// seenEach is how often it is written. A copy that is not older than that is not noticed.
const seenEach = 10 * time.Second

// readSeen reads it. What cannot be read is logged, and keeps no daemon from its work.
func readSeen(c *config.Config, log *slog.Logger) (seen store.Seen) {
	path := filepath.Join(c.StateDir, seenFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return seen
	}
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	if err != nil {
		log.Warn("it is not known how far the store was seen: a copy that was restored over it would not be noticed", "file", path, "err", err)
	}
	return seen
}

// keepSeen writes it again and again until ctx is done.
func keepSeen(ctx context.Context, c *config.Config, st *store.Store, log *slog.Logger) error {
	if c.Store == "" {
		return nil
	}
	tick := time.NewTicker(seenEach)
	defer tick.Stop()
	for {
		writeSeen(ctx, c, st, log)
		select {
		case <-tick.C:
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			writeSeen(ending, c, st, log)
			return nil
		}
	}
}

func writeSeen(ctx context.Context, c *config.Config, st *store.Store, log *slog.Logger) {
	seen, err := st.Seen(ctx)
	if err != nil {
		return // the database is away, and others say so
	}
	text, err := json.Marshal(seen)
	if err == nil {
		err = cli.WritePrivate(filepath.Join(c.StateDir, seenFile), append(text, '\n'))
	}
	if err != nil {
		log.Warn("how far the store was seen cannot be written", "err", err)
	}
}
