package sweep

import (
	"encoding/gob"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fsub/cloud/pmi/pmix"
)

// noteName is the note's in the folder of a step. What is being made has another, so that nobody
// finds it before its lock.
const (
	noteName = ".cleanup"
	newNote  = noteName + ".new"
)

// Sweeper is a [pmix.Cleaner] for a step on one node.
type Sweeper struct {
	Dir string // of the step, and the caller's alone
	// Root opens the root of the file system that paths are of, which must not be before anything
	// is removed. nil: it is the process's own.
	Root func() (*os.File, error)

	note *os.File     // nil: the list ends with this process
	text *gob.Encoder // to it
}

// Note makes the note.
func (s *Sweeper) Note() error {
	f, err := os.OpenFile(filepath.Join(s.Dir, newNote), os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.Dir, noteName))
	}
	if err != nil {
		f.Close()
		return err
	}
	s.note, s.text = f, gob.NewEncoder(f)
	return nil
}

// line is one of a note. It is not written as JSON since paths are bytes of any kind.
type line struct {
	Owner int
	More  *pmix.Cleanup // nil: all of the owner is removed
}

func (s *Sweeper) write(l line) {
	if s.text != nil {
		_ = s.text.Encode(l) // best effort: without it all is removed but after a kill
	}
}

// Keep implements [pmix.Cleaner].
func (s *Sweeper) Keep(owner int, more pmix.Cleanup) { s.write(line{owner, &more}) }

// Remove implements [pmix.Cleaner].
func (s *Sweeper) Remove(owner int, all pmix.Cleanup) {
	if root, err := s.root(); err == nil {
		remove(root, s.Root == nil, all)
		root.Close()
	}
	s.write(line{Owner: owner})
}

func (s *Sweeper) root() (*os.File, error) {
	if s.Root != nil {
		return s.Root()
	}
	return ownRoot()
}

func ownRoot() (*os.File, error) { return os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY, 0) }

// Close removes the folder, after everything that was to be removed.
func (s *Sweeper) Close() error {
	err := os.RemoveAll(s.Dir)
	if s.note != nil {
		s.note.Close()
	}
	return err
}

// Stale does what step daemons that were killed have left to do: of the caller's own folders in
// these whose names begin so.
func Stale(prefix string, parents ...string) error {
	var errs []error
	for _, parent := range parents {
		names, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range names {
			if e.IsDir() && strings.HasPrefix(e.Name(), prefix) {
				errs = append(errs, stale(filepath.Join(parent, e.Name())))
			}
		}
	}
	return errors.Join(errs...)
}

// stale is one folder, which may be another user's, or in use.
func stale(dir string) error {
	note := openNote(dir)
	if note == nil {
		return nil
	}
	defer note.Close()
	return finish(dir, note)
}

// openNote returns nil if the folder has no note, or belongs to another user.
func openNote(dir string) *os.File {
	d, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	defer d.Close()
	if !mine(d) {
		return nil
	}
	fd, err := unix.Openat(int(d.Fd()), noteName, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), noteName)
}

// finish does what a note says, unless it is in use, or was done since the note was opened.
func finish(dir string, note *os.File) error {
	if unix.Flock(int(note.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !mine(note) {
		return nil
	}
	root, err := ownRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	all := read(note)
	for _, owner := range slices.Backward(slices.Sorted(maps.Keys(all))) { // as the step daemon does: the step's own last
		remove(root, true, *all[owner])
	}
	return os.RemoveAll(dir)
}

// mine tells whether the file is the process's own user's, and still has a name.
func mine(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Uid == uint32(os.Geteuid()) && st.Nlink > 0
}

// read is what a note still has to be removed. Its last line may be half of one.
func read(note *os.File) map[int]*pmix.Cleanup {
	all := map[int]*pmix.Cleanup{}
	d := gob.NewDecoder(note)
	for {
		var l line
		if d.Decode(&l) != nil {
			return all
		}
		switch c := all[l.Owner]; {
		case l.More == nil:
			delete(all, l.Owner)
		case c == nil:
			all[l.Owner] = l.More
		default:
			c.Merge(*l.More)
		}
	}
}
