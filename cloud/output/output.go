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
	Most    int64  // bytes of one file; what would come after them is thrown away. 0: no bound
	User    int64  // bytes of the files of one user, likewise
	Keep    time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// Files are the files that hold output: one writer at a time each.
type Files struct {
	cfg  Config
	mu   sync.Mutex
	open map[string]*file

	quota quota
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

// Append adds a piece of a stream of uid's job that begins at an offset, and returns up to where the stream is settled. What was kept before is not
// kept twice; ErrConflict: something is missing before the piece. What is more than may be kept is settled too, and thrown away. ErrDenied, after
// which an agent sends no more of an output: the disk is nearly full. Asked to try again it would keep its machine until there is room.
func (f *Files) Append(name string, uid uint32, offset int64, body io.Reader) (int64, error) {
	free, err := f.room()
	if err != nil {
		f.cfg.Logger.Error("a job's output is not kept", "file", name, "err", err)
		return 0, err
	}
	defer f.lock(name)()
	return f.appendTo(filepath.Join(f.cfg.Dir, name), uid, offset, body, free)
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
		f.quota.count(list)
		for _, old := range list {
			if info, err := old.Info(); err == nil && f.cfg.Now().Sub(info.ModTime()) > f.cfg.Keep {
				err := os.Remove(filepath.Join(f.cfg.Dir, old.Name()))
				if err == nil {
					f.quota.add(ownerOf(info), -info.Size())
				} else {
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

// room is how many bytes are free where output is kept, and ErrDenied if they are too few for any.
func (f *Files) room() (free uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(f.cfg.Dir, &st); err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	if free = st.Bavail * uint64(st.Bsize); free < f.cfg.Reserve {
		return 0, fmt.Errorf("%d MiB are free where the output of jobs is kept, and %d MiB stay so: %w", free>>20, f.cfg.Reserve>>20, federation.ErrDenied)
	}
	return free, nil
}

// cutOff marks a file that has its last bytes, also where there is room again: something would be missing in the middle.
const cutOff fs.FileMode = 0o100

// appendTo appends the part of body that comes after the file's end.
func (f *Files) appendTo(path string, uid uint32, offset int64, body io.Reader, free uint64) (int64, error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	defer to.Close()
	info, err := to.Stat()
	if err != nil {
		return 0, fmt.Errorf("keep output: %w: %w", err, federation.ErrUnavailable)
	}
	size := info.Size()
	if size == 0 {
		_ = to.Chown(int(uid), -1) // see quota
	} else {
		uid = ownerOf(info)
	}
	if info.Mode()&cutOff != 0 {
		n, err := io.Copy(io.Discard, body)
		return offset + n, err
	}
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
		offset = size
	}
	left := f.left(size, uid, free)
	n, err := io.Copy(to, io.LimitReader(body, left))
	f.quota.add(uid, n)
	if err == nil && n == left {
		var rest int64
		if rest, err = io.Copy(io.Discard, body); rest > 0 {
			note, _ := fmt.Fprintf(to, "\nfsub: cut off after %d bytes: no more is kept of this job, or of all that its user's jobs write\n", size+n)
			f.quota.add(uid, int64(note))
			_ = to.Chmod(0o600 | cutOff)
		}
		n += rest
	}
	if err != nil {
		err = fmt.Errorf("output: %w: %w", err, federation.ErrUnavailable)
	}
	return offset + n, err
}
