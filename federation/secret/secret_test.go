package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode) // whatever the umask is
		return path
	}
	for path, want := range map[string]string{
		file("good", 0o600): "", file("read-only", 0o400): "",
		file("group", 0o640):          "may be read by others (mode 0640); run: chmod 600 ",
		file("world", 0o604):          "may be read by others (mode 0604)",
		filepath.Join(dir, "missing"): "missing does not exist",
		dir:                           "is not a regular file",
	} {
		if err := Check(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	for uid, want := range map[int]bool{0: true, 123: true, 64030: true, 1000: false, 70000: false} {
		path := file("owned", 0o600)
		if err := os.Chown(path, uid, -1); err != nil {
			t.Fatal(err)
		}
		if err := Check(path); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "run: chown 0 ") {
			t.Errorf("a file of uid %d: %v", uid, err)
		}
	}
}
