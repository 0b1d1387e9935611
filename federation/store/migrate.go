package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// migrate brings the schema up to date: migration n of the folder leads from schema version n-1 to n. Each is one
// transaction together with the version it reaches. A migration that was released is never changed.
func migrate(ctx context.Context, conn *sql.Conn, path string, log *slog.Logger) error {
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
	for ; version < len(files); version++ {
		text, err := fs.ReadFile(migrations, files[version])
		if err != nil {
			return err
		}
		if err := migrateTo(ctx, conn, version+1, string(text)); err != nil {
			return openError(path, fmt.Errorf("%s: %w", files[version], err))
		}
		log.Info("store schema migrated", "version", version+1)
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
