package bed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A root filesystem holds a Debian release with a whole Slurm site installed and nothing started. It is built once, kept as a
// packed file in the cache, and unpacked into each bed, where all sites of that release share it read-only.

// recipe changes when the contents of a root filesystem do: an older packed one is then not used.
const recipe = "1"

// dbTemplate is an empty MariaDB data directory inside a root filesystem. A copy of it saves each new site seconds.
const dbTemplate = "/var/lib/fsub-bed-db"

// versionFile holds Slurm's version inside a root filesystem.
const versionFile = "etc/fsub-bed-version"

// provideRoots makes sure that the bed has an unpacked root filesystem for every suite of sites.
func (b *Bed) provideRoots(ctx context.Context, sites []Site, say teller) error {
	var missing []string
	seen := map[string]bool{}
	for _, s := range sites {
		if !seen[s.Suite] && !b.rootReady(s.Suite) {
			missing = append(missing, s.Suite)
		}
		seen[s.Suite] = true
	}
	return each(missing, func(suite string) error { return b.provideRoot(ctx, suite, say) })
}

// rootReady reports whether the unpacked root filesystem of a suite can be used. One from before a reboot is not trusted: unpacking
// is cheap, and waiting for the disk, so that a power cut leaves no empty files, is not.
func (b *Bed) rootReady(suite string) bool {
	for _, s := range Sites {
		if _, up := b.holder(s.Name); up && s.Suite == suite {
			return true // and must not be replaced
		}
	}
	boot, err := bootID()
	if err != nil {
		return false
	}
	unpacked, err := os.ReadFile(b.rootDir(suite) + ".boot")
	return err == nil && string(unpacked) == boot
}

// rootVersion returns the Slurm version of an unpacked root filesystem. An error means that there is none.
func (b *Bed) rootVersion(suite string) (string, error) {
	v, err := os.ReadFile(filepath.Join(b.rootDir(suite), versionFile))
	return strings.TrimSpace(string(v)), err
}

func (b *Bed) provideRoot(ctx context.Context, suite string, say teller) error {
	packed := filepath.Join(b.opts.Cache, fmt.Sprintf("%s-%s-%s.tar.zst", suite, runtime.GOARCH, recipe))
	if err := b.providePacked(ctx, suite, packed, say); err != nil {
		return err
	}
	begun := time.Now()
	if err := b.unpackRoot(ctx, packed, suite); err != nil {
		return fmt.Errorf("unpack %s: %w", packed, err)
	}
	say("%s: unpacked in %.1f s", suite, time.Since(begun).Seconds())
	return nil
}

// providePacked makes sure that the cache has a whole packed file.
func (b *Bed) providePacked(ctx context.Context, suite, packed string, say teller) error {
	unlock, err := lockFile(filepath.Join(b.opts.Cache, suite+".lock")) // another bed may be building the same
	if err != nil {
		return err
	}
	defer unlock()
	err = checkSum(packed)
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		say("%v: building it again", err)
	}
	if err := b.buildRoot(ctx, suite, packed, say); err != nil {
		return fmt.Errorf("build the root filesystem of %s: %w", suite, err)
	}
	return nil
}

// unpackRoot fills the bed's root of a suite. It appears under its name only when it is whole.
func (b *Bed) unpackRoot(ctx context.Context, packed, suite string) error {
	if err := needSpace(b.opts.Dir, 1<<30); err != nil {
		return err
	}
	dir := b.rootDir(suite)
	tmp := dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	if err := run(ctx, "tar", "--numeric-owner", "-p", "-I", "zstd", "-C", tmp, "-xf", packed); err != nil {
		os.RemoveAll(tmp)
		return err
	}
	if err := errors.Join(os.RemoveAll(dir+".boot"), os.RemoveAll(dir)); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	boot, err := bootID()
	if err != nil {
		return err
	}
	return writeFile(dir+".boot", []byte(boot), 0o644)
}

// checkSum reports whether a packed file is whole.
func checkSum(packed string) error {
	want, err := os.ReadFile(packed + ".sha256")
	if err != nil {
		return err
	}
	got, err := sumFile(packed)
	if err != nil {
		return err
	}
	if got != strings.TrimSpace(string(want)) {
		return fmt.Errorf("%s is damaged (checksum)", packed)
	}
	return nil
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// needSpace refuses early what would fail late.
func needSpace(dir string, bytes uint64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < bytes {
		return fmt.Errorf("disk full: %s has %d MiB free, %d MiB are needed", dir, free>>20, bytes>>20)
	}
	return nil
}
