package submit

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"fsub/cmd/internal/nofile"
	"fsub/sbatch"
)

// caller is what decides about a call: the process's directory, host, umask, priority, limits and clock.
func caller(args, env []string) (sbatch.Input, error) {
	var dir [4096]byte
	n, err := syscall.Getcwd(dir[:])
	if err != nil {
		return sbatch.Input{}, errors.New("the current directory cannot be told (" + err.Error() + "); change into one that exists")
	}
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return sbatch.Input{
		Args: args, Env: env,
		Dir:    string(dir[:n-1]),
		Host:   hostname(),
		Root:   syscall.Getuid() == 0,
		Now:    time.Now(),
		Umask:  mask,
		Nice:   priority(),
		Limits: limits,
		Files:  files{},
		Stdin:  func() ([]byte, error) { return readAll(0, sbatch.MaxScript+1) },
	}, nil
}

// hostname is the host's name up to the first dot.
func hostname() string {
	var u syscall.Utsname
	if syscall.Uname(&u) != nil {
		return ""
	}
	var b []byte
	for _, c := range u.Nodename {
		if c == 0 || c == '.' {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// priority is the nice value. The system call gives 20 minus it, so that it is never negative.
func priority() int {
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - n
}

// limits are the soft limits that sbatch sends, in its order.
func limits() []sbatch.Limit {
	kinds := [...]struct {
		name   string
		number int
	}{{"CPU", 0}, {"FSIZE", 1}, {"DATA", 2}, {"STACK", 3}, {"CORE", 4}, {"RSS", 5}, {"NPROC", 6}, {"NOFILE", 7}, {"MEMLOCK", 8}, {"AS", 9}}
	list := make([]sbatch.Limit, 0, len(kinds))
	for _, k := range kinds {
		var lim syscall.Rlimit
		if syscall.Getrlimit(k.number, &lim) != nil {
			continue
		}
		if k.name == "NOFILE" {
			lim.Cur = nofile.Soft
		}
		list = append(list, sbatch.Limit{Name: k.name, Value: lim.Cur})
	}
	return list
}

// files reads the caller's files.
type files struct{}

func (files) Exists(name string) bool {
	var st syscall.Stat_t
	return !strings.Contains(name, "\x00") && syscall.Stat(name, &st) == nil
}

func (files) Read(name string, limit int) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	return readAll(fd, limit)
}

// readAll reads up to limit bytes. Package os would set up a poller first.
func readAll(fd, limit int) ([]byte, error) {
	room := 16 << 10
	var st syscall.Stat_t
	if syscall.Fstat(fd, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG {
		room = int(max(st.Size, 0)) + 1 // one more, to see the end
	}
	buf := make([]byte, 0, min(limit, room))
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, min(limit-len(buf), len(buf)))
		}
		n, err := syscall.Read(fd, buf[len(buf):min(cap(buf), limit)])
		switch {
		case err == syscall.EISDIR:
			return nil, nil // sbatch finds a directory empty
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return buf, nil
		default:
			buf = buf[:len(buf)+n]
		}
	}
	return buf, nil
}
