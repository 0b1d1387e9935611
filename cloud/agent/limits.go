package agent

import (
	"log/slog"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFiles is how many files a job may raise its own limit to: what fs.nr_open allows by default.
const openFiles = 1 << 20

// raiseLimits lifts the limits that jobs inherit of this process: locked memory without bound, and many open files. The service that starts an agent at boot
// has 8 MiB of locked memory at most, and no user can raise that; with so little, EFA, InfiniBand and TPUs cannot register their buffers. slurmd's unit has
// LimitMEMLOCK=infinity for the same reason. Where this process may not raise a hard limit, the soft one becomes as high as it.
func raiseLimits(set func(resource int, l *syscall.Rlimit) error, log *slog.Logger) {
	for _, want := range []struct {
		name     string
		resource int
		most     uint64
	}{{"RLIMIT_MEMLOCK", unix.RLIMIT_MEMLOCK, unix.RLIM_INFINITY}, {"RLIMIT_NOFILE", unix.RLIMIT_NOFILE, openFiles}} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(want.resource, &now); err != nil || now.Cur >= want.most {
			continue
		}
		err := set(want.resource, &syscall.Rlimit{Cur: max(want.most, now.Max), Max: max(want.most, now.Max)})
		if err != nil && now.Cur < now.Max {
			err = set(want.resource, &syscall.Rlimit{Cur: now.Max, Max: now.Max})
		}
		if err != nil {
			log.Info("a limit stays as it is", "limit", want.name, "hard", now.Max, "err", err)
		}
	}
}
