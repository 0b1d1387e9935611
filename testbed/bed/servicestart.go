package bed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// StartService starts a daemon that does not run, and waits until it answers.
func (b *Bed) StartService(ctx context.Context, site, name string) error {
	_, v, err := b.service(site, name)
	if err != nil {
		return err
	}
	holder, ok := b.holder(site)
	if !ok {
		return errDown(site)
	}
	return b.start(ctx, site, holder, v)
}

func (b *Bed) start(ctx context.Context, site string, holder procID, v service) error {
	pid, err := pidOf(holder, v)
	if err != nil {
		return err
	}
	if pid == 0 {
		if v.finish != nil {
			if err := v.finish(); err != nil {
				return err
			}
		}
		if err := b.launch(site, holder, v); err != nil {
			return fmt.Errorf("start %s at %s: %w", v.name, site, err)
		}
	}
	return b.await(ctx, site, holder, v)
}

// detach starts a program in a session of its own, as a child of the holder. A direct child of the caller would pass to the host's first
// process, and where that buries no dead (in some containers) the site could never end.
var detach = []string{"setsid", "--fork"}

// launch starts the process of a service. It may not have become the service's program yet.
func (b *Bed) launch(site string, holder procID, v service) error {
	logFile, err := os.OpenFile(b.outFile(site, v), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	return onThread(func() error {
		if err := enter(holder.PID, siteNamespaces...); err != nil {
			return err
		}
		if v.node != "" {
			if err := becomeNode(v.node); err != nil {
				return err
			}
		}
		path, err := lookPath(detach[0], nil, "/")
		if err != nil {
			return err
		}
		cmd := &exec.Cmd{
			Path: path, Args: append(slices.Clone(detach), v.args...), Dir: "/", Stdout: logFile, Stderr: logFile,
			Env:         append([]string{"PATH=" + sitePath, "LANG=C.UTF-8", "SLURM_CONF=/etc/slurm/slurm.conf"}, v.env...),
			SysProcAttr: &syscall.SysProcAttr{},
		}
		if v.user != nil {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(v.user.UID), Gid: uint32(v.user.UID)}
		}
		return cmd.Run()
	})
}

// becomeNode gives the current thread a host name of its own, and a /run/slurm of its own: each slurmd makes a socket there, under
// the same name, for the commands of its node.
func becomeNode(name string) error {
	if err := unshare(unix.CLONE_NEWUTS | unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("set hostname: %w", err)
	}
	return mount("tmpfs", "/run/slurm", "tmpfs", unix.MS_NOSUID, "mode=755")
}

// outFile holds what a service wrote to its standard output and error.
func (b *Bed) outFile(site string, v service) string {
	return filepath.Join(b.siteDir(site), "log", strings.ReplaceAll(v.name, ":", "-")+".out")
}

// answers reports whether a service does its work.
func (b *Bed) answers(ctx context.Context, holder procID, v service) (bool, error) {
	open, err := listens(holder, v)
	if err != nil || !open || v.name != "slurmctld" {
		return open, err
	}
	// slurmctld 26.05 opens its port before it reads its state, and may end over that
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return b.inSite(ctx, holder, "scontrol", "ping") == nil, nil
}

// Limits are for a machine that does much else at the same time: what takes long there must not fail.
const (
	startLimit = 5 * time.Minute  // for a service to answer, and for nodes to register
	endLimit   = 2 * time.Minute  // for a service to end
	askLimit   = 15 * time.Second // for a command of Slurm, which may be asked again
)

// await waits until a service does its work. A service that ended meanwhile is an error with its last words.
func (b *Bed) await(ctx context.Context, site string, holder procID, v service) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	missing := 0
	for {
		if ready, err := b.answers(ctx, holder, v); err != nil {
			return err
		} else if ready {
			return nil
		}
		if here, err := present(holder, v); err == nil && !here {
			missing++
		} else {
			missing = 0
		}
		if missing == 5 { // not the first time: a list of processes is not made in one moment
			return fmt.Errorf("%s at %s ended at once: %s (see %s)", v.name, site, lastLine(b.outFile(site, v)), b.outFile(site, v))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s at %s does not answer on %s: %w", v.name, site, v.address(), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (v service) address() string {
	if v.socket != "" {
		return v.socket
	}
	return fmt.Sprintf("port %d", v.port)
}

// listens reports whether a service accepts connections: on its socket, or on its port of the site's loopback address. One that greets must do so:
// mariadbd opens its port a moment before it is ready, and a SIGTERM in that moment leaves it hanging forever (11.8.9).
func listens(holder procID, v service) (open bool, err error) {
	var family int = unix.AF_INET
	var to unix.Sockaddr = &unix.SockaddrInet4{Port: v.port, Addr: [4]byte{127, 0, 0, 1}}
	if v.socket != "" {
		family, to = unix.AF_UNIX, &unix.SockaddrUnix{Name: v.socket}
	}
	err = onThread(func() error {
		if err := enter(holder.PID, "net", "mnt"); err != nil {
			return err
		}
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if unix.Connect(fd, to) != nil {
			return nil
		}
		open = !v.greets || greeted(fd)
		return nil
	})
	return open, err
}

// greeted waits for the first byte, for a second at most.
func greeted(fd int) bool {
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return false
	}
	for {
		n, err := unix.Read(fd, make([]byte, 1))
		if err != unix.EINTR {
			return n == 1
		}
	}
}

func lastLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}
