package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// needed are programs that tests call and a site does not have: some tests compile one of their own.
var needed = []string{"expect", "gcc", "libc6-dev"}

// downloading is held by the side that fills the directory of packages; the other one then finds them there.
var downloading sync.Mutex

// installPackages unpacks what is needed, and what that needs in turn, into the site's root.
func (s *side) installPackages(ctx context.Context) error {
	debs, err := s.packages(ctx)
	if err != nil {
		return err
	}
	for _, deb := range debs {
		f, err := os.Open(deb)
		if err != nil {
			return err
		}
		// packages of before the merge of /lib into /usr/lib hold a directory where the site has a link
		err = s.inSite(ctx, f, "sh", "-c", "cat >/tmp/deb && dpkg-deb --fsys-tarfile /tmp/deb | tar -x -C / --keep-directory-symlink")
		f.Close()
		if err != nil {
			return fmt.Errorf("unpack %s: %w", deb, err)
		}
	}
	return nil
}

// packages returns the files of all packages that the site lacks. It downloads them if the directory has none: for the host's own
// Debian release, which must be the site's.
func (s *side) packages(ctx context.Context) ([]string, error) {
	downloading.Lock()
	defer downloading.Unlock()
	if debs, err := filepath.Glob(filepath.Join(s.debs, "*.deb")); len(debs) > 0 || err != nil {
		return debs, err
	}
	status, err := s.b.Output(ctx, site, "root", "cat", "/var/lib/dpkg/status")
	if err != nil {
		return nil, err
	}
	// apt wants to write beside the list of what is installed
	tmp, err := os.MkdirTemp("", "fsub-expect-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	if err := os.WriteFile(filepath.Join(tmp, "status"), []byte(status), 0o644); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(s.debs, "partial"), 0o755); err != nil {
		return nil, err
	}
	args := []string{"-o", "Dir::State::status=" + filepath.Join(tmp, "status"), "-o", "Dir::Cache::archives=" + s.debs, "-o", "Debug::NoLocking=1",
		"--yes", "--no-install-recommends", "--download-only", "install"}
	if out, err := exec.CommandContext(ctx, "apt-get", append(args, needed...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("download %s: %w: %s (run: apt-get update)", strings.Join(needed, ", "), err, out)
	}
	return filepath.Glob(filepath.Join(s.debs, "*.deb"))
}
