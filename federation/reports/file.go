package reports

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeFile writes a file that only its owner may read into a directory of his beneath dir, whole or not at all. The directories stay the daemon's, so that
// nobody can put something else in the file's place.
func writeFile(dir, owner string, uid uint32, name string, content []byte) (string, error) {
	if owner == "" || strings.HasPrefix(owner, ".") || strings.ContainsRune(owner, '/') {
		return "", errors.New("the owner's name cannot be that of a directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if err := root.Mkdir(owner, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	own, err := root.OpenRoot(owner)
	if err != nil {
		return "", err
	}
	defer own.Close()
	fresh := "." + name + ".new"
	f, err := own.OpenFile(fresh, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err = f.Write(content); err == nil && int(uid) != os.Geteuid() {
		err = f.Chown(int(uid), -1)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = own.Rename(fresh, name)
	}
	if err != nil {
		own.Remove(fresh)
		return "", err
	}
	return filepath.Join(dir, owner, name), nil
}
