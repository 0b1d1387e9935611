package store_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"fsub/federation/store"
)

// What a newer fed would do with a store is known before it runs.
func TestCheckUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fed.db")
	if _, err := store.CheckUpgrade(ctx, path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no store: %v", err)
	}
	execute(t, path, string(read(t, "testdata/earlier/v25.sql")))
	u, err := store.CheckUpgrade(ctx, path)
	if err != nil || u.From != 25 || u.To != store.NewestSchema() || u.Copy == 0 || u.Room == 0 {
		t.Errorf("a store of version 25: %+v, %v", u, err)
	}
	open(t, store.Config{Path: path}).Close()
	if u, err := store.CheckUpgrade(ctx, path); err != nil || u.From != u.To || u.Copy != 0 {
		t.Errorf("the same, upgraded: %+v, %v", u, err)
	}
	execute(t, path, "INSERT INTO schema_version (version) VALUES (9999)")
	if _, err := store.CheckUpgrade(ctx, path); err == nil || !strings.Contains(err.Error(), "its schema has version 9999 and this fed knows up to") {
		t.Errorf("a store of the future: %v", err)
	}
}
