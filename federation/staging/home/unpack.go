package home

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"fsub/federation/staging"
)

// unpack puts the files of an archive where the item says. A site made the archive, so names in it are not trusted: nothing is
// written outside of the directory that the user's own words lead to, not through a link either.
func unpack(req request, in io.Reader) (files int, err error) {
	it := req.Items[0]
	base, under := destination(req.Dir, it)
	if err := os.MkdirAll(base, 0o777); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	u := unpacker{root: root, left: req.Max}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, in) // padding
			return u.files, err
		}
		if err != nil {
			return u.files, fmt.Errorf("stage-out: the archive that came back is damaged: %w", err)
		}
		name := path.Clean(h.Name)
		if !filepath.IsLocal(name) {
			return u.files, userErrorf("stage-out: %q in what came back does not lie in the job's directory", h.Name)
		}
		to, ok := within(under, it.Target(name))
		if !ok || !it.Names(name) {
			return u.files, userErrorf("stage-out: %q in what came back is not what %s names", h.Name, it.From)
		}
		err = u.entry(to, h, r)
		if err != nil && strings.Contains(err.Error(), "path escapes from parent") { // os.Root has no other word for it
			return u.files, userErrorf("stage-out: %s would lead out of %s by a link: name that directory as the target", name, base)
		}
		if err != nil {
			return u.files, fmt.Errorf("stage-out: %w", err)
		}
	}
}

// destination splits where an item's files go into a directory that the user named (which may lead through links) and the
// beginning of targets that it stands for.
func destination(dir string, it staging.Item) (base, under string) {
	under = it.To
	switch {
	case under == "":
		under = path.Dir(path.Clean(it.From))
	case !strings.HasSuffix(under, "/") && !strings.ContainsAny(it.From, "*?["):
		under = path.Dir(path.Clean(under))
	}
	under = path.Clean(under)
	for strings.ContainsAny(under, "*?[") && it.To == "" {
		under = path.Dir(under)
	}
	if path.IsAbs(under) {
		return under, under
	}
	return filepath.Join(dir, under), under
}

// within is name relative to the directory under.
func within(under, name string) (string, bool) {
	rel, err := filepath.Rel(under, name)
	return rel, err == nil && filepath.IsLocal(rel)
}

type unpacker struct {
	root  *os.Root
	left  int64
	files int
}

func (u *unpacker) entry(name string, h *tar.Header, r io.Reader) error {
	mode := fs.FileMode(h.Mode).Perm()
	switch h.Typeflag {
	case tar.TypeDir:
		return u.root.MkdirAll(name, mode|0o700)
	case tar.TypeReg:
		return u.file(name, mode, h, r)
	case tar.TypeSymlink:
		return u.link(name, h.Linkname)
	}
	return nil // devices, pipes: not from a job
}

func (u *unpacker) file(name string, mode fs.FileMode, h *tar.Header, r io.Reader) error {
	if u.left -= h.Size; u.left < 0 {
		return userErrorf("the result is larger than the limit (blobs: max_mib)")
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	u.files++
	return u.root.Chtimes(name, h.ModTime, h.ModTime)
}

// link makes a link that stays inside; others are left out: they would lead into the user's files from outside.
func (u *unpacker) link(name, to string) error {
	if path.IsAbs(to) || !filepath.IsLocal(path.Join(path.Dir(name), to)) {
		return nil
	}
	if old, err := u.root.Lstat(name); err == nil && old.Mode()&fs.ModeSymlink != 0 {
		if err := u.root.Remove(name); err != nil {
			return err
		}
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	u.files++
	return u.root.Symlink(to, name)
}
