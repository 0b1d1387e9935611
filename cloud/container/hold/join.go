package hold

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// namespaces in the order in which they are entered: the user's first, for it gives the right to the others.
var namespaces = []string{"user", "cgroup", "ipc", "uts", "net", "mnt"}

// Namespaces opens those of the container that are not this process's own.
func (h *Held) Namespaces() ([]*os.File, error) {
	var files []*os.File
	for _, ns := range namespaces {
		f, err := os.Open("/proc/" + strconv.Itoa(h.PID) + "/ns/" + ns)
		if errors.Is(err, os.ErrNotExist) && ns == "cgroup" {
			continue
		}
		same := false
		if err == nil {
			same, err = isOwn(f, ns)
		}
		switch {
		case err != nil:
			Close(files)
			return nil, fmt.Errorf("unable to open %s namespace file: %w", ns, err)
		case same:
			f.Close()
		default:
			files = append(files, f)
		}
	}
	return files, nil
}

// Close closes what Namespaces has opened.
func Close(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func isOwn(f *os.File, ns string) (bool, error) {
	var own, other unix.Stat_t
	if err := unix.Stat("/proc/self/ns/"+ns, &own); err != nil {
		return false, err
	}
	if err := unix.Fstat(int(f.Fd()), &other); err != nil {
		return false, err
	}
	return own.Dev == other.Dev && own.Ino == other.Ino, nil
}
