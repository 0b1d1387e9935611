package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
)

//go:embed migrations
var migrations embed.FS

// migration leads from the schema version before its own to its own.
type migration struct {
	version int
	name    string
	text    string
}

// migrationsOf are those of a database, in order. Those that both databases take stand in migrations, in SQLite's words (see forPostgres); where they must
// differ, each has a file of that number in the folder of its name. PostgreSQL begins with the tables as they were when it was added. One that was released is
// never changed.
func migrationsOf(dialect string) (all []migration, err error) {
	for _, dir := range []string{"migrations", "migrations/" + dialect} {
		files, err := fs.Glob(migrations, dir+"/*.sql")
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			text, err := fs.ReadFile(migrations, name)
			if err != nil {
				return nil, err
			}
			version, err := strconv.Atoi(path.Base(name)[:4])
			if err != nil {
				return nil, fmt.Errorf("%s: its name must begin with its number", name)
			}
			all = append(all, migration{version, name, string(text)})
		}
	}
	slices.SortFunc(all, func(a, b migration) int { return a.version - b.version })
	return all, nil
}

// NewestSchema is the version of the schema that this program writes. It opens no store of a newer one.
func NewestSchema() int {
	all, _ := migrationsOf("sqlite")
	return all[len(all)-1].version
}

// knownVersion refuses a store that a newer program has written.
func knownVersion(name string, version int) error {
	if newest := NewestSchema(); version > newest {
		return fmt.Errorf("store %s: its schema has version %d and this fed knows up to %d: run the newer fed that wrote it, "+
			"or restore a copy made before that", name, version, newest)
	}
	return nil
}

// migrate brings the schema of a SQLite store up to date. Each migration is one transaction together with the version it reaches.
//
// What was there before is copied first, and can be put back with the fed that wrote it. Where there is no room for the copy nothing is changed.
func migrate(ctx context.Context, conn *sql.Conn, c Config) error {
	path, log := c.Path, c.Logger
	all, err := migrationsOf("sqlite")
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return openError(path, err)
	}
	if err := knownVersion(path, version); err != nil {
		return err
	}
	if version > 0 && version < len(all) && !c.Volatile {
		if err := copyBefore(ctx, conn, path, version); err != nil {
			return fmt.Errorf("store %s: copy it before its schema is changed: %w; nothing was changed", path, err)
		}
		log.Info("store copied before its schema is changed", "copy", copyName(path, version))
	}
	from := version
	for _, m := range all {
		if m.version <= version {
			continue
		}
		if err := migrateTo(ctx, conn, m); err != nil {
			return openError(path, fmt.Errorf("%s: %w", m.name, err))
		}
		version = m.version
	}
	if version > from {
		log.Info("store schema migrated", "from", from, "version", version)
	}
	return nil
}

func copyName(path string, version int) string { return fmt.Sprintf("%s.schema-%d", path, version) }

// copyBefore copies the store as it is with a version of the schema. Of the copies before older migrations the newest stays.
func copyBefore(ctx context.Context, conn *sql.Conn, path string, version int) error {
	if err := copyTo(ctx, conn, copyName(path, version)); err != nil {
		return err
	}
	kept := 0
	for old := version - 1; old > 0; old-- {
		name := copyName(path, old)
		if _, err := os.Stat(name); err != nil {
			continue
		}
		if kept++; kept > 1 {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func schemaVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	if _, err := conn.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)"); err != nil {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version").Scan(&version)
	return version, err
}

func migrateTo(ctx context.Context, conn *sql.Conn, m migration) error {
	t, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := t.ExecContext(ctx, m.text); err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, "INSERT INTO schema_version (version) VALUES ($1)", m.version); err != nil {
		return err
	}
	return t.Commit()
}
