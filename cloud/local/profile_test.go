package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What only root may read of the host's profile does not become everybody's in a machine.
func TestProfileKeepsSecrets(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(from, "a.sh"), []byte("A=1\n"), 0o644), os.Chmod(filepath.Join(from, "a.sh"), 0o644), os.WriteFile(filepath.Join(from, "proxy.sh"), []byte("PASSWORD=x\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyPublic(from, to, entries); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadDir(to)
	if err != nil || len(got) != 1 || got[0].Name() != "a.sh" {
		t.Errorf("it has %v, %v", got, err)
	}
}

// The log of an agent can be of any size.
func TestLastWordsOfALongLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 40
	if _, err := f.WriteAt([]byte("\nthe end\n"), size); err != nil {
		t.Skip("SKIPPED: no sparse files here: ", err)
	}
	text, err := tail(path)
	if err != nil || !strings.HasSuffix(string(text), "\nthe end\n") || len(text) > 1<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
