package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fsub/cloud/local/inside"
)

const profileDir = "/etc/profile.d"

// writeProfile makes the machine's /etc/profile.d, if the host has one: the host's files, and one
// that puts the agent's commands first in PATH. A script that begins "#!/bin/bash -l" sets PATH by
// /etc/profile, and on Slurm nodes that PATH has srun.
func writeProfile(dir string) (made bool, err error) {
	entries, err := os.ReadDir(profileDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	own := filepath.Join(dir, inside.ProfileDir)
	if err := errors.Join(os.MkdirAll(own, 0o755), os.Chmod(own, 0o755)); err != nil {
		return false, err
	}
	if err := copyPublic(profileDir, own, entries); err != nil {
		return false, err
	}
	bin := strings.ReplaceAll(filepath.Join(dir, "bin"), "'", `'\''`)
	return true, writePublic(filepath.Join(own, "zz-fsub.sh"), fmt.Appendf(nil, "PATH='%s':$PATH\n", bin))
}

// copyPublic copies those files that everybody may read.
func copyPublic(from, to string, entries []fs.DirEntry) error {
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(from, e.Name()))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o004 == 0 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			continue // not for us to read
		}
		if err := writePublic(filepath.Join(to, e.Name()), text); err != nil {
			return err
		}
	}
	return nil
}

// writePublic writes a file that everybody may read, whatever the umask.
func writePublic(path string, text []byte) error {
	return errors.Join(os.WriteFile(path, text, 0o644), os.Chmod(path, 0o644))
}
