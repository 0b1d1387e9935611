package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fsub/cmd/fed/internal/config"
)

// A daemon that leads after others takes no other directory for the one that they share.
func TestSharedDirectory(t *testing.T) {
	dir := t.TempDir()
	open := func(at string, kept map[string][]byte, shared bool) error {
		c := config.Default()
		c.StateDir, c.Blobs.URL, c.Blobs.Public, c.Blobs.Shared = t.TempDir(), "file://"+at, "http://a:1", shared
		objects, err := openBlobs(t.Context(), &c)
		if err != nil {
			t.Fatal(err)
		}
		defer objects.Close()
		return checkShared(t.Context(), &c, objects, &sharedFiles{kept: kept})
	}
	used := map[string][]byte{"blobs.key": nil}
	for _, err := range []error{open(dir, nil, true), open(dir, used, true), open(t.TempDir(), used, false)} {
		if err != nil {
			t.Error(err)
		}
	}
	other := t.TempDir()
	if err := open(other, used, true); err == nil || !strings.Contains(err.Error(), "is the file system mounted?") {
		t.Errorf("another directory: %v", err)
	}
	if err := os.WriteFile(filepath.Join(other, sharedMark), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(other, used, true); err != nil {
		t.Errorf("once it was made by hand: %v", err)
	}
}
