package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/local/inside"
	"fsub/cloud/local/lan"
)

// own locks a directory's OwnersFile: shared for a provider, who makes it, alone for who clears
// away after all of them. It lasts until the file is closed.
func own(dir string, how int) (*os.File, error) {
	flags := os.O_RDWR
	if how == unix.LOCK_SH {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, inside.OwnersFile), flags, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

// reaper sees to it that a process beside the machines clears away after them when no provider is there (see [inside.Reap]).
type reaper struct {
	cfg *Config
	log *slog.Logger
	mu  sync.Mutex
}

// ensure starts a reaper beside the machines if there is none. They run
// without it, too.
func (r *reaper) ensure() {
	if r.cfg.Settle == nil {
		return
	}
	if err := r.start(); err != nil {
		r.log.Warn("nobody clears away after local machines if the daemon does not come back: run fed pool clear then", "err", err)
	}
}

func (r *reaper) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.writeCommand(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(r.cfg.Dir, inside.ReaperFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil // there is one
	}
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(r.cfg.Dir, inside.ReaperLogFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(r.cfg.Agent, "-ward", r.cfg.Dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// writeCommand records the command of the reaper, also of one that an earlier daemon has started.
func (r *reaper) writeCommand() error {
	file := filepath.Join(r.cfg.Dir, inside.CommandFile)
	text, err := json.Marshal(r.cfg.Settle)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return replaceFile(file, text)
}

// Settle clears away what the machines of dir have left on this host: their network, control groups
// and directories. It refuses while a machine lives, or a provider that would do it.
func Settle(dir string, log *slog.Logger) error {
	owner, err := own(dir, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no pool of this machine: %w", err)
	}
	if err != nil {
		return err
	}
	defer owner.Close()
	if inside.Populated(dir) {
		return fmt.Errorf("a machine of %s lives", dir)
	}
	p := assemble(&Config{Dir: dir, Now: time.Now, Logger: log})
	if os.Geteuid() == 0 {
		p.net.lan, err = lan.Find(bridgeOf(dir)) // the machines are cleared away whatever that says
	}
	if err := p.load(); err != nil {
		return err
	}
	for _, g := range p.gangs.byToken {
		for _, m := range p.gangs.machines(g) {
			if !m.Ended.IsZero() {
				continue
			}
			reason := p.host.lastWords(&m)
			err = errors.Join(err, p.host.stop(&m)) // it may not have begun
			_, bad := p.settle(g, &m, reason)
			err = errors.Join(err, bad)
		}
	}
	if p.net.lan != nil {
		err = errors.Join(err, p.net.lan.Remove(p.unused))
	}
	return err
}

// bridgeOf names the bridge of a directory's machines.
func bridgeOf(dir string) string {
	h := fnv.New32a()
	h.Write([]byte(dir))
	return lan.Name(h.Sum32())
}
