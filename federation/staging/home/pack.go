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

// packer writes an archive of a user's files.
type packer struct {
	tar  *tar.Writer
	left int64
	max  int64
}

func pack(req request, out io.Writer) error {
	if err := os.Chdir(req.Dir); err != nil {
		return err
	}
	p := &packer{tar: tar.NewWriter(out), left: req.Max, max: req.Max}
	for _, it := range req.Items {
		if err := p.item(it); err != nil {
			return err
		}
	}
	return p.tar.Close()
}

// item adds everything that an item names. The current directory is the job's.
func (p *packer) item(it staging.Item) error {
	names, err := named(it)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return fmt.Errorf("stage-in: %w", err)
			}
			return p.file(file, it.Target(file), file == name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// named are the files and directories that an item names.
func named(it staging.Item) (names []string, err error) {
	names = []string{it.From}
	if strings.ContainsAny(it.From, "*?[") {
		if names, err = filepath.Glob(it.From); err != nil {
			return nil, userErrorf("stage-in: %s: %v", it.From, err)
		}
		if len(names) == 0 {
			return nil, userErrorf("stage-in: nothing matches %s", it.From)
		}
	}
	for _, name := range names {
		if _, err := os.Stat(name); it.Optional && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("stage-in: %w", err)
		}
	}
	return names, nil
}

// file adds one file, directory or link. A link that the user named is followed; one inside a directory is kept as it is.
func (p *packer) file(name, as string, named bool) error {
	st, err := os.Lstat(name)
	if err == nil && named {
		st, err = os.Stat(name)
	}
	if err != nil {
		return fmt.Errorf("stage-in: %w", err)
	}
	link := ""
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		if link, err = os.Readlink(name); err != nil {
			return fmt.Errorf("stage-in: %w", err)
		}
	case !st.Mode().IsRegular() && !st.IsDir():
		if named {
			return userErrorf("stage-in: %s is neither a file nor a directory", name)
		}
		return nil // a socket or pipe means nothing elsewhere
	}
	h, err := tar.FileInfoHeader(st, link)
	if err != nil {
		return fmt.Errorf("stage-in: %s: %w", name, err)
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = path.Clean(as), 0, 0, "", ""
	if st.IsDir() {
		h.Name += "/"
	}
	if !st.Mode().IsRegular() {
		return p.tar.WriteHeader(h)
	}
	return p.content(name, h)
}

func (p *packer) content(name string, h *tar.Header) error {
	if p.left -= h.Size; p.left < 0 {
		return userErrorf("stage-in: the files are larger than the limit of %d bytes (blobs: max_mib)", p.max)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("stage-in: %w", err)
	}
	defer f.Close()
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.CopyN(p.tar, f, h.Size)
	if err == io.EOF {
		return fmt.Errorf("stage-in: %s became shorter while it was read (%d of %d bytes)", name, n, h.Size)
	}
	return err
}
