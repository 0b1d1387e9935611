package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"fsub/federation/staging"
)

// link makes links in the user's directory: relative ones to what is named relative to it.
func link(req request) error {
	if err := os.Chdir(req.Dir); err != nil {
		return err
	}
	for _, it := range req.Items {
		names, err := named(it)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := linkOne(it, name); err != nil {
				return fmt.Errorf("stage-in: %w", err)
			}
		}
	}
	return nil
}

// linkOne makes the link to one file or directory. What is there already stays: the file itself, the link of a run before, or what the user has put there.
func linkOne(it staging.Item, name string) error {
	to := it.Target(name)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(path.Dir(to), 0o777); err != nil {
		return err
	}
	if !path.IsAbs(name) {
		var err error
		if name, err = filepath.Rel(path.Dir(to), name); err != nil {
			return err
		}
	}
	if err := os.Symlink(name, to); !errors.Is(err, fs.ErrExist) { // other tasks of an array do the same
		return err
	}
	return nil
}
