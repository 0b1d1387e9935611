package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
)

// vault keeps files for all daemons: [leader.Sealed] is one.
type vault interface {
	All(ctx context.Context) (map[string][]byte, error)
	Put(ctx context.Context, epoch int64, name string, value []byte) error
}

// sharedFiles are the files of the state directory that each daemon must have when it leads: keys, and the sites that were added.
type sharedFiles struct {
	config *config.Config
	vault  vault
	epoch  int64

	mu   sync.Mutex
	kept map[string][]byte // what the vault has, by name
}

// fetch writes what the vault has into the state directory. A key that is there and differs is an error: one of the two is known to machines.
func (f *sharedFiles) fetch(ctx context.Context) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept, err = f.vault.All(ctx); err != nil {
		return err
	}
	for name, value := range f.kept {
		path := filepath.Join(f.config.StateDir, name)
		have, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(have, value):
			continue
		case err == nil && !config.SiteFile(name):
			return fmt.Errorf("%s is not the one that the daemons share: if this daemon has rented no machines by itself, move it away and start again", path)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return err
		}
		if err := cli.WritePrivate(path, value); err != nil {
			return err
		}
	}
	return nil
}

// keep puts into the vault what is new or was changed.
func (f *sharedFiles) keep(ctx context.Context) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	names, err := f.config.StateFiles()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		value, err := os.ReadFile(filepath.Join(f.config.StateDir, name))
		if err != nil {
			return err
		}
		if have, is := f.kept[name]; is && bytes.Equal(have, value) {
			continue
		}
		if err := f.vault.Put(ctx, f.epoch, name, value); err != nil {
			return fmt.Errorf("keep %s for the other daemons: %w", name, err)
		}
		f.kept[name] = value
	}
	return nil
}
