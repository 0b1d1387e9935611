package bed

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
	s, err := b.site(site)
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
