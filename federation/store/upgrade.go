package store

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Upgrade is what this program would do first with a store that another one has written.
type Upgrade struct {
	From, To int   // versions of the schema
	Copy     int64 // bytes of the copy that is made before the schema changes; 0: it does not change
	Room     int64 // bytes that are free for it
}

// CheckUpgrade says whether this program could open the SQLite store at path, without changing it. A daemon may be running on it. A schema that is newer than this
// program, or too little room for the copy, is an error.
func CheckUpgrade(ctx context.Context, path string) (u Upgrade, err error) {
	if err := exists(path); err != nil {
		return u, err
	}
	db := mustOpen(path, url.Values{"mode": {"ro"}, "_busy_timeout": {"10000"}, "_query_only": {"on"}})
	defer db.Close()
	u.To = NewestSchema()
	var pages, free, size int64
	for query, into := range map[string]any{"SELECT COALESCE(MAX(version), 0) FROM schema_version": &u.From,
		"PRAGMA page_count": &pages, "PRAGMA freelist_count": &free, "PRAGMA page_size": &size} {
		if err := db.QueryRowContext(ctx, query).Scan(into); err != nil {
			return u, openError(path, err)
		}
	}
	if err := knownVersion(path, u.From); err != nil || u.From == u.To {
		return u, err
	}
	u.Copy = (pages - free) * size
	var at unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &at); err != nil {
		return u, fmt.Errorf("store %s: %w", path, err)
	}
	u.Room = int64(at.Bavail) * at.Bsize
	return u, u.fits(path)
}

func (u Upgrade) fits(path string) error {
	if u.Room >= u.Copy+u.Copy/10 { // the schema's change takes some too
		return nil
	}
	return fmt.Errorf("store %s: its schema changes from version %d to %d, and it is copied before: that takes %d MiB, and %d are free: free some in %s",
		path, u.From, u.To, (u.Copy+u.Copy/10)>>20+1, u.Room>>20, filepath.Dir(path))
}
