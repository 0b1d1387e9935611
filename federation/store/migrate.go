package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"os"
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// migrate brings the schema up to date: migration n of the folder leads from schema version n-1 to n. Each is one
// transaction together with the version it reaches. A migration that was released is never changed.
//
// What was there before is copied first, and can be put back with the fed that wrote it. Where there is no room for the copy nothing is changed.
func migrate(ctx context.Context, conn *sql.Conn, c Config) error {
	path, log := c.Path, c.Logger
	files, err := fs.Glob(migrations, "migrations/sqlite/*.sql") // sorted
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return openError(path, err)
	}
	if version > len(files) {
		return fmt.Errorf("store %s: its schema has version %d and this fed knows up to %d: run the newer fed that wrote it, "+
			"or restore a copy made before that", path, version, len(files))
	}
	if version > 0 && version < len(files) && !c.Volatile {
		if err := copyBefore(ctx, conn, path, version); err != nil {
			return fmt.Errorf("store %s: copy it before its schema is changed: %w; nothing was changed", path, err)
		}
		log.Info("store copied before its schema is changed", "copy", copyName(path, version))
	}
	from := version
	for ; version < len(files); version++ {
		text, err := fs.ReadFile(migrations, files[version])
		if err != nil {
			return err
		}
		if err := migrateTo(ctx, conn, version+1, string(text)); err != nil {
			return openError(path, fmt.Errorf("%s: %w", files[version], err))
		}
	}
	if version > from {
		log.Info("store schema migrated", "from", from, "version", version)
	}
	return nil
}

// NewestSchema is the version of the schema that this program writes. It opens no store of a newer one.
func NewestSchema() int {
	files, _ := fs.Glob(migrations, "migrations/sqlite/*.sql")
	return len(files)
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

func migrateTo(ctx context.Context, conn *sql.Conn, version int, text string) error {
	t, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := t.ExecContext(ctx, text); err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, "INSERT INTO schema_version (version) VALUES ($1)", version); err != nil {
		return err
	}
	return t.Commit()
}
