// Package systemd is what a daemon and the systemd that started it tell each other: the sockets that systemd keeps open while the daemon restarts, so that
// callers wait instead of being refused; whether the daemon is ready, reloads, lives or stops; and one line on how it is. [Manager] is all there is. A daemon
// that systemd did not start has one that does nothing.
package systemd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// Manager is the systemd that started this process; nil: it was not looked for. Its methods are safe for concurrent use, but for Take.
type Manager struct {
	log      *slog.Logger
	send     func(state string) // nil: nobody listens
	watchdog time.Duration      // systemd restarts a daemon that was silent for that long; 0: it does not
	passed   []net.Listener     // by systemd, and not taken yet
	ready    atomic.Bool
	status   atomic.Pointer[func(context.Context) string]
}

// Open reads what systemd has passed to this process, and removes it from the environment: it is not for the programs that this process starts.
func Open(log *slog.Logger) (*Manager, error) {
	m := &Manager{log: log}
	if to := os.Getenv("NOTIFY_SOCKET"); to != "" {
		m.send = func(state string) { m.write(to, state) }
	}
	os.Unsetenv("NOTIFY_SOCKET")
	var err error
	if m.watchdog, err = daemon.SdWatchdogEnabled(true); err != nil {
		return nil, fmt.Errorf("WATCHDOG_USEC of systemd: %w", err)
	}
	if m.passed, err = activation.Listeners(); err != nil {
		return nil, fmt.Errorf("sockets of systemd: %w", err)
	}
	if i := slices.Index(m.passed, nil); i >= 0 {
		return nil, fmt.Errorf("socket %d that systemd passes does not listen: use ListenStream= and Accept=no in its unit", i+1)
	}
	return m, nil
}

// Address is where a daemon listens: by a path ("unix") or by HOST:PORT ("tcp"). Key is that of the configuration which says so.
type Address struct{ Key, Network, At string }

// Check refuses sockets that were passed and are at none of these addresses: callers would wait there for ever.
func (m *Manager) Check(all ...Address) error {
	for _, l := range m.passed {
		if slices.ContainsFunc(all, func(a Address) bool { return at(l, a.Network, a.At) }) {
			continue
		}
		var known []string
		for _, a := range all {
			if a.At != "" {
				known = append(known, a.Key+" "+a.At)
			}
		}
		return fmt.Errorf("systemd passes the socket %s, and the configuration has %s: make ListenStream= of the socket unit and the configuration the same",
			l.Addr(), strings.Join(known, ", "))
	}
	return nil
}

// Take returns the socket at an address if systemd has passed it; nil: it has not, or it was taken.
func (m *Manager) Take(network, address string) net.Listener {
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(m.passed, func(l net.Listener) bool { return at(l, network, address) })
	if i < 0 {
		return nil
	}
	l := m.passed[i]
	m.passed = slices.Delete(m.passed, i, i+1)
	return l
}

// at reports whether a listener is at an address.
func at(l net.Listener, network, address string) bool {
	if address == "" || l.Addr().Network() != network {
		return false
	}
	switch a := l.Addr().(type) {
	case *net.UnixAddr:
		one, err1 := os.Stat(a.Name)
		other, err2 := os.Stat(address)
		return a.Name == address || err1 == nil && err2 == nil && os.SameFile(one, other)
	case *net.TCPAddr:
		want, err := net.ResolveTCPAddr(network, address)
		everywhere := func(ip net.IP) bool { return len(ip) == 0 || ip.IsUnspecified() }
		return err == nil && a.Port == want.Port && (a.IP.Equal(want.IP) || everywhere(a.IP) && everywhere(want.IP))
	}
	return false
}

// Describe sets what says in a line how the daemon is, as systemctl status shows it.
func (m *Manager) Describe(status func(context.Context) string) {
	if m != nil {
		m.status.Store(&status)
	}
}

// How long systemd is asked to wait for a daemon that starts, and how often. A million jobs are read first.
const (
	extension   = time.Minute
	extendEvery = extension / 6
	retryEvery  = 50 * time.Millisecond
	statusEvery = 20 * time.Second // where there is no watchdog
)

// Run tells systemd how the daemon is until ctx is done. The daemon starts until answers succeeds for the first time, however long that takes. From then
// on it lives while answers succeeds: a daemon that does not answer is restarted when the time of the watchdog is over.
func (m *Manager) Run(ctx context.Context, answers func(context.Context) error) {
	if m.send == nil || !m.start(ctx, answers) {
		return
	}
	m.ready.Store(true)
	m.send("READY=1\n" + m.line(ctx))
	every, within := statusEvery, statusEvery
	if m.watchdog > 0 {
		every, within = m.watchdog/4, m.watchdog/2
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			m.send("STOPPING=1")
			return
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, within)
		err := answers(asking)
		if err == nil {
			m.send("WATCHDOG=1\n" + m.line(asking))
		} else if ctx.Err() == nil {
			m.log.Warn("the daemon does not answer itself: systemd will restart it", "watchdog", m.watchdog, "err", err)
		}
		cancel()
	}
}

// start returns when answers has succeeded; false: ctx is done.
func (m *Manager) start(ctx context.Context, answers func(context.Context) error) bool {
	var extended time.Time
	for ctx.Err() == nil {
		if time.Since(extended) >= extendEvery {
			extended = time.Now()
			m.send("EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(extension.Microseconds(), 10) + "\nSTATUS=reading the jobs")
		}
		asking, cancel := context.WithTimeout(ctx, extendEvery)
		err := answers(asking)
		cancel()
		if err == nil {
			return true
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
	return false
}

// line is the assignment of the status; "" if nothing is known.
func (m *Manager) line(ctx context.Context) string {
	if f := m.status.Load(); f != nil {
		return "STATUS=" + strings.ReplaceAll((*f)(ctx), "\n", " ")
	}
	return ""
}

// Reload does a reload, and tells systemd when it begins and ends.
func (m *Manager) Reload(do func()) {
	if !m.ready.Load() {
		do()
		return
	}
	m.send("RELOADING=1\n" + daemon.SdNotifyMonotonicUsec())
	do()
	m.send("READY=1")
}

// write sends a message to the socket of systemd. One that is lost is only logged: the next follows.
func (m *Manager) write(to, state string) {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: to, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		c.Close()
	}
	if err != nil {
		m.log.Warn("systemd was not told how the daemon is", "err", err)
	}
}
