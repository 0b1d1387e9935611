package inside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// mounted is a file or a folder of a machine's directory that the machine sees at another path.
type mounted struct {
	on       bool
	file, at string
}

// etc is what of /etc is the machine's own.
func (s *Spec) etc() []mounted {
	return []mounted{{s.Hosts, HostsFile, "/etc/hosts"}, {s.Profile, ProfileDir, "/etc/profile.d"}, {s.Resolv, ResolvFile, "/etc/resolv.conf"},
		{s.Users, PasswdFile, "/etc/passwd"}, {s.Users, GroupFile, "/etc/group"}}
}

// mountEtc mounts it from dir, as far as it is not there: all that can be, whatever is in the way of one.
func (s *Spec) mountEtc(dir string) (err error) {
	for _, m := range s.etc() {
		err = errors.Join(err, m.mount(dir))
	}
	return err
}

func (m mounted) mount(dir string) error {
	file := filepath.Join(dir, m.file)
	if !m.on || sameFile(file, m.at) {
		return nil
	}
	if err := unix.Mount(file, m.at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", m.at, err)
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// lookAgain is how long Keep relies on notifications.
const lookAgain = time.Second

// Keep maintains the machine's own files in /etc until ctx ends. When somebody replaces such a file
// on the host, as useradd and package managers do, the kernel removes the mount on it from every
// mount namespace, and the machine would see the host's file from then on; Keep mounts it again
// within milliseconds, or within a second where there is no fanotify. (6.18 does not always notify
// pollers of mountinfo.) It needs the right to mount: root's. An overlay on /etc would not lose its
// files, but root's jobs could not write there, and a running node would not see what the host
// replaces elsewhere in /etc, such as resolv.conf. A file that cannot be mounted is reported to
// warn, once, and tried again; the others are kept.
func Keep(ctx context.Context, dir string, warn func(error)) error {
	text, err := os.ReadFile(filepath.Join(dir, SpecFile))
	if err != nil {
		return err
	}
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s: %w", SpecFile, err)
	}
	news := s.watchEtc()
	defer news.Close()
	defer context.AfterFunc(ctx, func() { news.Close() })()
	failed := map[string]bool{}
	for ctx.Err() == nil {
		for _, m := range s.etc() {
			err := m.mount(dir)
			bad := err != nil && !errors.Is(err, fs.ErrNotExist) // removed: another one comes
			if bad && !failed[m.at] {
				warn(err)
			}
			failed[m.at] = bad
		}
		awaitNews(ctx, news)
	}
	return nil
}

// watchEtc watches for files that are made in or moved into the folders of those of etc; nil where
// the kernel cannot.
func (s *Spec) watchEtc() *os.File {
	const flags = unix.FAN_CLASS_NOTIF | unix.FAN_REPORT_DIR_FID | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK
	fd, err := unix.FanotifyInit(flags, unix.O_RDONLY)
	if err != nil {
		return nil
	}
	for _, m := range s.etc() {
		if at, err := filepath.EvalSymlinks(m.at); m.on && err == nil {
			_ = unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_ONLYDIR, unix.FAN_CREATE|unix.FAN_MOVED_TO, unix.AT_FDCWD, filepath.Dir(at))
		}
	}
	return os.NewFile(uintptr(fd), "fanotify")
}

// awaitNews waits for news, for lookAgain at most, or until ctx ends.
func awaitNews(ctx context.Context, news *os.File) {
	end := time.Now().Add(lookAgain)
	_ = news.SetReadDeadline(end)
	_, err := news.Read(make([]byte, 4<<10)) // what they say does not matter
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	select { // there is nobody to tell any
	case <-ctx.Done():
	case <-time.After(time.Until(end)):
	}
}
