// Package output keeps what jobs on rented machines write: one file for each run and stream, appended to by the run's machine. A piece that comes twice is
// kept once; any job can fill a disk, so some of it stays free.
package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fsub/federation"
)

// Config is where output is kept, and for how long.
type Config struct {
	Dir     string // "": nowhere
	Reserve uint64 // bytes of its file system that stay free
	Keep    time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// Files are the files that hold output: one writer at a time each.
type Files struct {
	cfg  Config
	mu   sync.Mutex
	open map[string]*file
}

type file struct {
	mu    sync.Mutex
	users int
}

// New keeps output as configured. It creates nothing before Make.
func New(cfg Config) *Files { return &Files{cfg: cfg, open: map[string]*file{}} }

// Make creates the directory.
func (f *Files) Make() error {
	if f.cfg.Dir == "" {
		return nil
	}
	return os.MkdirAll(f.cfg.Dir, 0o700)
}

// Kept reports whether output is kept at all.
func (f *Files) Kept() bool { return f.cfg.Dir != "" }

// Append appends what of body, which begins at offset, is not in a file yet, and returns the file's size. ErrConflict: there is a gap before it. ErrDenied, after
// which an agent sends no more of an output: the disk is nearly full. Asked to try again it would keep its machine until there is room.
func (f *Files) Append(name string, offset int64, body io.Reader) (int64, error) {
	if err := f.room(); err != nil {
		f.cfg.Logger.Error("a job's output is not kept", "file", name, "err", err)
		return 0, err
	}
	defer f.lock(name)()
	return appendTo(filepath.Join(f.cfg.Dir, name), offset, body)
}

// Read reads at most so many bytes of a file from offset on, and reports whether there are more. ErrNotFound: there is no such file.
func (f *Files) Read(name string, offset int64, most int) (text []byte, more bool, err error) {
	from, err := os.Open(filepath.Join(f.cfg.Dir, name))
	if errors.Is(err, fs.ErrNotExist) || f.cfg.Dir == "" {
		return nil, false, federation.ErrNotFound
	}
	if err != nil {
		return nil, false, err
	}
	defer from.Close()
	text = make([]byte, most)
	n, err := from.ReadAt(text, offset)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	return text[:n], err == nil, nil
}

// Tidy removes, once an hour until ctx is done, output that nobody has written for too long.
func (f *Files) Tidy(ctx context.Context) {
	for f.cfg.Dir != "" {
		list, err := os.ReadDir(f.cfg.Dir)
		if err != nil {
			f.cfg.Logger.Warn("look for old output", "err", err)
		}
		for _, old := range list {
			if info, err := old.Info(); err == nil && f.cfg.Now().Sub(info.ModTime()) > f.cfg.Keep {
				if err := os.Remove(filepath.Join(f.cfg.Dir, old.Name())); err != nil {
					f.cfg.Logger.Warn("remove old output", "err", err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Hour):
		}
	}
}

// lock waits until nobody else writes a file.
func (f *Files) lock(name string) (unlock func()) {
	f.mu.Lock()
	one := f.open[name]
	if one == nil {
		one = &file{}
		f.open[name] = one
	}
	one.users++
	f.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(f.open, name)
		}
	}
}

func (f *Files) room() error {
	var st unix.Statfs_t
	if err := unix.Statfs(f.cfg.Dir, &st); err != nil {
		return fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	if free := st.Bavail * uint64(st.Bsize); free < f.cfg.Reserve {
		return fmt.Errorf("%d MiB are free where the output of jobs is kept, and %d MiB stay so: %w", free>>20, f.cfg.Reserve>>20, federation.ErrDenied)
	}
	return nil
}

func appendTo(path string, offset int64, body io.Reader) (int64, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	size := info.Size()
	if offset > size {
		return size, fmt.Errorf("output from byte %d comes before that from byte %d: %w", offset, size, federation.ErrConflict)
	}
	if offset < size {
		n, err := io.CopyN(io.Discard, body, size-offset)
		if errors.Is(err, io.EOF) || err == nil && n == 0 {
			return size, nil
		}
		if err != nil {
			return size, fmt.Errorf("output: %w: %w", err, federation.ErrUnavailable)
		}
	}
	n, err := io.Copy(f, body)
	if err != nil {
		err = fmt.Errorf("output: %w: %w", err, federation.ErrUnavailable)
	}
	return size + n, err
}
