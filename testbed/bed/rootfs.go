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
// packed file in the cache, and unpacked once beside it: all sites of that release, of all beds, share it read-only. A bed has a link to it.

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

// rootReady reports whether the bed has a root filesystem of a suite that can be used.
func (b *Bed) rootReady(suite string) bool {
	for _, s := range Sites {
		if _, up := b.holder(s.Name); up && s.Suite == suite {
			return true // and must not be replaced
		}
	}
	target, err := os.Readlink(b.rootDir(suite))
	return err == nil && target == b.unpackedRoot(suite) && thisBoot(target)
}

// thisBoot reports whether a root filesystem was unpacked since the machine started. One from before is not trusted: unpacking is cheap,
// and waiting for the disk, so that a power cut leaves no empty files, is not.
func thisBoot(dir string) bool {
	boot, err := bootID()
	if err != nil {
		return false
	}
	unpacked, err := os.ReadFile(dir + ".boot")
	return err == nil && string(unpacked) == boot
}

// unpackedRoot is a suite's root filesystem in the cache, packedRoot the file that it comes from.
func (b *Bed) unpackedRoot(suite string) string {
	return filepath.Join(b.opts.Cache, fmt.Sprintf("%s-%s-%s", suite, runtime.GOARCH, recipe))
}

func (b *Bed) packedRoot(suite string) string { return b.unpackedRoot(suite) + ".tar.zst" }

// rootVersion returns the Slurm version of an unpacked root filesystem. An error means that there is none.
func (b *Bed) rootVersion(suite string) (string, error) {
	v, err := os.ReadFile(filepath.Join(b.rootDir(suite), versionFile))
	return strings.TrimSpace(string(v)), err
}

// provideRoot makes sure that the cache has an unpacked root filesystem, and links the bed to it.
func (b *Bed) provideRoot(ctx context.Context, suite string, say teller) error {
	unlock, err := lockFile(filepath.Join(b.opts.Cache, suite+".lock")) // another bed may be at the same
	if err != nil {
		return err
	}
	defer unlock()
	if !thisBoot(b.unpackedRoot(suite)) {
		if err := b.providePacked(ctx, suite, say); err != nil {
			return err
		}
		begun := time.Now()
		if err := unpack(ctx, b.packedRoot(suite), b.unpackedRoot(suite)); err != nil {
			return fmt.Errorf("unpack %s: %w", b.packedRoot(suite), err)
		}
		say("%s: unpacked in %.1f s", suite, time.Since(begun).Seconds())
	}
	link := b.rootDir(suite)
	if err := os.RemoveAll(link); err != nil {
		return err
	}
	return os.Symlink(b.unpackedRoot(suite), link)
}

// providePacked makes sure that the cache has a whole packed file.
func (b *Bed) providePacked(ctx context.Context, suite string, say teller) error {
	packed := b.packedRoot(suite)
	err := checkSum(packed)
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

// unpack fills dir from a packed file. It appears under its name only when it is whole.
func unpack(ctx context.Context, packed, dir string) error {
	if err := needSpace(filepath.Dir(dir), 1<<30); err != nil {
		return err
	}
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
	return appear(tmp, dir)
}

// appear gives a whole root filesystem its name.
func appear(tmp, dir string) error {
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
