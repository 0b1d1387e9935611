package bed

import (
	"context"
	"errors"
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

// slurmUID is SlurmUser in every Debian release.
const slurmUID = 64030

// service is one daemon of a site. It is found by its command line, not by a remembered PID: slurmctld takes a new PID when it is reconfigured.
type service struct {
	name string // slurmctld, slurmdbd, slurmrestd, mariadb, munged, slurmd:NODE
	args []string
	env  []string
	node string // for slurmd: its host name, in a uts namespace of its own
	user *User  // nil: root
	port int
	// socket is what a daemon without a port listens on.
	socket string
	// greets: the daemon speaks first, and is ready when it has.
	greets bool

	finish func() error // mends what a kill left, before each start
}

// services lists the daemons of a site in the order in which they start.
func (b *Bed) services(s Site) []service {
	var list []service
	if s.Auth == AuthMunge {
		list = append(list, service{name: "munged", socket: mungeSocket, args: b.mungedArgs(s)})
	}
	list = append(list,
		service{name: "mariadb", port: mariadbPort, greets: true, args: b.mariadbArgs(s)},
		service{name: "slurmdbd", port: slurmdbdPort, args: []string{"slurmdbd", "-D"}},
		service{name: "slurmctld", port: slurmctldPort, args: []string{"slurmctld", "-D"}, finish: func() error { return b.finishSaves(s) }},
	)
	for i, node := range s.NodeNames() {
		list = append(list, service{name: "slurmd:" + node, node: node, port: slurmdPort + i + 1, args: []string{"slurmd", "-D", "-N", node}})
	}
	return append(list, service{name: "slurmrestd", port: restPort, user: &restUser, env: []string{"SLURM_JWT=daemon"},
		args: []string{"slurmrestd", "-a", "rest_auth/jwt", fmt.Sprintf("0.0.0.0:%d", restPort)}})
}

// atOnce reports whether a daemon can start, and stop, at the same time as others: those before it in the list need one another.
func (v service) atOnce() bool { return v.node != "" || v.name == "slurmrestd" }

// mungeSocket is where all programs look for munged unless each of them, and slurmdbd's clients by another option than the others, is told otherwise.
const mungeSocket = "/run/munge/munge.socket.2"

// mungedArgs make it look up no names, and keep nothing but its key beyond the life of the site. It runs as root, and then wants its files to be root's.
func (b *Bed) mungedArgs(s Site) []string {
	return []string{
		"munged", "--foreground", "--key-file=" + filepath.Join(b.siteDir(s.Name), "etc", mungeKey), "--socket=" + mungeSocket,
		"--pid-file=/run/munge/munged.pid", "--seed-file=/run/munge/munged.seed", "--origin=127.0.0.1", "--num-threads=2",
	}
}

func (b *Bed) mariadbArgs(s Site) []string {
	return []string{
		"mariadbd", "--no-defaults", "--user=mysql", "--datadir=" + filepath.Join(b.siteDir(s.Name), "db"), "--socket=mysqld.sock",
		"--pid-file=mysqld.pid", "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", mariadbPort), "--init-file=/etc/slurm/db.sql",
		// The database must survive kill -9, not a power cut. Otherwise it writes past the page cache and waits for the disk, which on a
		// machine that does other things took it a minute to start.
		"--innodb-flush-method=nosync", "--debug-no-sync", "--innodb-log-file-buffering=ON", "--skip-innodb-use-native-aio",
		"--skip-name-resolve", "--skip-log-bin", "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=64M",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-lock-wait-timeout=900", "--max-allowed-packet=16M",
		"--loose-innodb-snapshot-isolation=OFF", // slurmdbd 26.05 refuses the default of MariaDB 11.6 and later
	}
}

// matches reports whether a process is this service, or is about to become it.
func (v service) matches(p process) bool {
	if len(p.argv) == 0 {
		return false
	}
	if n := len(detach); len(p.argv) > n && slices.Equal(p.argv[:n], detach) {
		p.argv = p.argv[n:]
	}
	return filepath.Base(p.argv[0]) == v.args[0] && len(p.argv) > 1 && p.argv[1] == v.args[1] &&
		(v.node == "" || slices.Contains(p.argv, v.node))
}

// service returns a daemon of a site by name.
func (b *Bed) service(site, name string) (Site, service, error) {
	s, err := findSite(site)
	if err != nil {
		return Site{}, service{}, err
	}
	var names []string
	for _, v := range b.services(s) {
		if v.name == name {
			return s, v, nil
		}
		names = append(names, v.name)
	}
	return Site{}, service{}, fmt.Errorf("no service %q at %s: choose from %s", name, site, strings.Join(names, ", "))
}

// ServicePID returns the host's PID of a site's daemon, 0 when it does not run.
func (b *Bed) ServicePID(site, name string) (int, error) {
	_, v, err := b.service(site, name)
	if err != nil {
		return 0, err
	}
	holder, ok := b.holder(site)
	if !ok {
		return 0, errDown(site)
	}
	return pidOf(holder, v)
}

func pidOf(holder procID, v service) (int, error) {
	ps, err := processesOf(holder)
	if err != nil {
		return 0, err
	}
	for _, p := range ps {
		if v.matches(p) {
			return p.pid, nil
		}
	}
	return 0, nil
}

// present reports whether a service runs or is about to. A process in the middle of exec shows no command line, for long when the program
// comes from a busy disk: it may be the service.
func present(holder procID, v service) (bool, error) {
	ps, err := processesOf(holder)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(ps, func(p process) bool { return len(p.argv) == 0 || v.matches(p) }), nil
}

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
// mariadbd opens its port a moment before it is ready, and a SIGTERM in that moment leaves it hanging for ever (11.8.9).
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

// StopService ends a daemon with SIGTERM and waits until it is gone. slurmctld saves its state first.
func (b *Bed) StopService(site, name string) error { return b.endService(site, name, unix.SIGTERM) }

// KillService ends a daemon with SIGKILL and waits until it is gone.
func (b *Bed) KillService(site, name string) error { return b.endService(site, name, unix.SIGKILL) }

func (b *Bed) endService(site, name string, sig unix.Signal) error {
	_, v, err := b.service(site, name)
	if err != nil {
		return err
	}
	holder, ok := b.holder(site)
	if !ok {
		return errDown(site)
	}
	return end(holder, v, sig, endLimit)
}

var errStillRuns = errors.New("still runs")

// againAfter is how long to wait before a slurmd is sent the signal again. A SIGTERM that reaches it while it starts, before it
// waits for connections, is noted and not acted on until something wakes it.
const againAfter = 2 * time.Second

// end signals a service and waits until it is gone.
func end(holder procID, v service, sig unix.Signal, limit time.Duration) error {
	pid, err := pidOf(holder, v)
	if err != nil || pid == 0 {
		return err
	}
	p, err := identify(pid)
	if err != nil {
		return nil // gone in between
	}
	if err := signal(pid, sig); err != nil {
		return err
	}
	again := time.Now().Add(againAfter)
	for deadline := time.Now().Add(limit); !p.gone(); time.Sleep(5 * time.Millisecond) {
		now := time.Now()
		if now.After(deadline) {
			return fmt.Errorf("%s %w %s after %v", v.name, errStillRuns, limit, sig)
		}
		if now.After(again) && strings.HasPrefix(v.name, "slurmd:") {
			if err := signal(pid, sig); err != nil {
				return err
			}
			again = now.Add(againAfter)
		}
	}
	return nil
}
