package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/federation/store"
)

// A whole backup is a directory with all that a new host needs: the database, the keys and certificates of the state directory, the sites that were added while a
// daemon ran, the configuration, and the logs of rented machines' jobs if they are asked for. manifest.json is written last and names each file with its
// hash. The directory is made under another name and renamed: one of its name is whole.

const (
	manifestFile = "manifest.json"
	backupConfig = "fed.yaml"
	backupStore  = "fed.db"
	backupState  = "state" // what it has of the state directory
)

// manifest is what a backup has.
type manifest struct {
	Made  time.Time         `json:"made"`
	Files map[string]string `json:"files"` // hex SHA-256 by name in the backup
}

// backUp writes a backup of the daemon to dir: a new directory, an empty one, or an earlier backup, which it replaces.
func backUp(c *config.Config, ctx context.Context, config, dir string, logs bool) (*manifest, error) {
	dir = filepath.Clean(dir)
	if err := mayReplace(dir); err != nil {
		return nil, err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+".part-") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(part) // after the exchange: the earlier backup
	if err := store.Backup(ctx, c.StorePath(), filepath.Join(part, backupStore)); err != nil {
		return nil, err
	}
	from := map[string]string{} // by name in the backup
	if config != "" {
		from[backupConfig] = config
	}
	names, err := c.StateFiles()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		from[filepath.Join(backupState, name)] = filepath.Join(c.StateDir, name)
	}
	if logs {
		if err := addTree(from, filepath.Join(c.StateDir, "logs"), filepath.Join(backupState, "logs")); err != nil {
			return nil, err
		}
	}
	m := &manifest{Made: time.Now().UTC(), Files: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if err := copyPrivate(from[name], filepath.Join(part, name)); err != nil && !(logs && errors.Is(err, fs.ErrNotExist)) { // a log may go meanwhile
			return nil, err
		}
	}
	if err := m.hash(part); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := cli.WritePrivate(filepath.Join(part, manifestFile), append(text, '\n')); err != nil {
		return nil, err
	}
	return m, install(part, dir)
}

// mayReplace refuses a directory that holds something else than a backup.
func mayReplace(dir string) error {
	files, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(files) > 0 && !slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == manifestFile }):
		return fmt.Errorf("%s is not empty and no backup of fed: give a new directory", dir)
	}
	return nil
}

// install gives a finished directory its name. What had it is at part then.
func install(part, dir string) error {
	err := unix.Renameat2(unix.AT_FDCWD, part, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOENT) {
		err = os.Rename(part, dir)
	}
	if err != nil {
		return fmt.Errorf("name the backup %s: %w", dir, err)
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}

// addTree adds the files below a directory, which need not be there.
func addTree(to map[string]string, dir, as string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		to[filepath.Join(as, name)] = path
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyPrivate copies a file to one that only its owner may read.
func copyPrivate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// hash adds all files below dir.
func (m *manifest) hash(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			m.Files[name], err = fileSum(path)
		}
		return err
	})
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// readBackup reads what a backup has, and refuses one of which something is missing or has changed.
func readBackup(dir string) (*manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a backup of fed: it has no %s", dir, manifestFile)
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, manifestFile), err)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s names a file outside of it: %q", dir, name)
		}
		if sum, err := fileSum(filepath.Join(dir, name)); err != nil || sum != m.Files[name] {
			return nil, fmt.Errorf("%s is not whole: %s is missing or has changed", dir, name)
		}
	}
	if m.Files[backupStore] == "" {
		return nil, fmt.Errorf("%s is not whole: it has no %s", dir, backupStore)
	}
	return &m, nil
}

// putConfig writes a backup's configuration to path, unless there is one, and says whether it did.
func putConfig(m *manifest, dir, path string) (bool, error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || m.Files[backupConfig] == "" {
		return false, err
	}
	text, err := os.ReadFile(filepath.Join(dir, backupConfig))
	if err == nil {
		err = cli.WritePrivate(path, text)
	}
	return err == nil, err
}

// restoreFrom puts what a backup has into the state directory. A file that is there and differs is kept beside the new one.
func restoreFrom(c *config.Config, ctx context.Context, m *manifest, dir string) (put []string, err error) {
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return nil, err
	}
	_, none := os.Stat(c.StorePath())
	kept, err := store.Restore(ctx, filepath.Join(dir, backupStore), c.StorePath())
	switch {
	case err != nil:
		return nil, err
	case none == nil:
		put = append(put, fmt.Sprintf("%s; the old files are in %s", c.StorePath(), kept))
	default: // it was made to be locked, and is empty
		os.Remove(kept)
		put = append(put, c.StorePath())
	}
	at := time.Now().UTC().Format("20060102T150405")
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		rest, is := strings.CutPrefix(name, backupState+"/")
		if !is {
			continue
		}
		path := filepath.Join(c.StateDir, rest)
		if sum, err := fileSum(path); err == nil && sum == m.Files[name] {
			continue
		} else if err == nil {
			if err := os.Rename(path, path+".before-"+at); err != nil {
				return put, err
			}
		}
		if err := copyPrivate(filepath.Join(dir, name), path); err != nil {
			return put, err
		}
		put = append(put, path)
	}
	return put, giveBack(c)
}

// giveBack gives all in the state directory to its owner: root restores for the user who serves.
func giveBack(c *config.Config) error {
	info, err := os.Stat(c.StateDir)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	return filepath.WalkDir(c.StateDir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, int(owner.Uid), int(owner.Gid))
		}
		return err
	})
}
