package sweep

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fsub/cloud/pmi/pmix"
)

// deepest is how far a folder is gone into: every level holds a file open.
const deepest = 200

// sweep is one owner's.
type sweep struct {
	root    int  // that paths begin at
	host    bool // it is the process's own
	ignored []string
	uid     uint32
}

// remove removes files first, then folders, as PMIx's own server does. What cannot be removed stays
// and is not reported: the task may have removed it.
func remove(root *os.File, host bool, c pmix.Cleanup) {
	w := &sweep{root: int(root.Fd()), host: host, ignored: c.Ignored, uid: uint32(os.Geteuid())}
	for _, list := range c.Files {
		for name := range strings.SplitSeq(list, ",") {
			w.file(name)
		}
	}
	for _, d := range c.Dirs {
		for name := range strings.SplitSeq(d.Path, ",") {
			w.dir(name, d)
		}
	}
}

// parent opens the folder that a path is in. Links on the way lead where they lead the task.
func (w *sweep) parent(name string) (fd int, base string, err error) {
	if !path.IsAbs(name) {
		return 0, "", errors.New("want an absolute path")
	}
	dir, base := path.Split(path.Clean(name))
	if base == "" {
		return 0, "", errors.New("the root stays")
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	fd, err = unix.Openat2(w.root, dir, &how)
	if w.host && (errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM)) { // before Linux 5.6, or where it is forbidden
		fd, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	return fd, base, err
}

// file removes anything but a folder: a link itself, not its target.
func (w *sweep) file(name string) {
	fd, base, err := w.parent(name)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if st, ok := w.own(fd, base); ok && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		_ = unix.Unlinkat(fd, base, 0)
	}
}

// own examines an entry of a folder. False: it belongs to another user, or is not there.
func (w *sweep) own(dir int, base string) (st unix.Stat_t, ok bool) {
	err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err == nil && st.Uid == w.uid
}

func (w *sweep) dir(name string, d pmix.Dir) {
	fd, base, err := w.parent(name)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	name = path.Clean(name)
	st, ok := w.own(fd, base)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFDIR || slices.Contains(w.ignored, name) {
		return
	}
	w.empty(fd, base, name, st.Dev, d.Recursive, 0)
	if !d.LeaveTop {
		_ = unix.Unlinkat(fd, base, unix.AT_REMOVEDIR)
	}
}

// empty removes what is in a folder, as far as it may.
func (w *sweep) empty(parent int, base, name string, dev uint64, recursive bool, depth int) {
	fd, err := unix.Openat(parent, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	list, _ := f.Readdirnames(-1)
	for _, child := range list {
		whole := name + "/" + child
		st, ok := w.own(fd, child)
		switch {
		case !ok || slices.Contains(w.ignored, whole):
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			_ = unix.Unlinkat(fd, child, 0)
		case recursive && st.Dev == dev && depth < deepest:
			w.empty(fd, child, whole, dev, recursive, depth+1)
			_ = unix.Unlinkat(fd, child, unix.AT_REMOVEDIR)
		}
	}
}
