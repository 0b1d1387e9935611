package bed

import (
	"context"
	"io"
	"os"
	"path/filepath"
)

// Root is the root filesystem of a suite that a site may have: a Debian release with Slurm installed, of which nothing runs. It is what all such sites share: mount
// a layer over it, and change nothing in it.
func (b *Bed) Root(ctx context.Context, suite string, progress io.Writer) (string, error) {
	unlock, err := b.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := os.MkdirAll(filepath.Dir(b.rootDir(suite)), 0o755); err != nil {
		return "", err
	}
	if err := b.provideRoots(ctx, []Site{{Suite: suite}}, newTeller(progress)); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(b.rootDir(suite))
}
