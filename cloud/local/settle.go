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

// ensureReaper starts a reaper beside the machines if there is none (see [inside.Reap]). They run
// without it, too.
func (p *Provider) ensureReaper() {
	if p.cfg.Settle == nil {
		return
	}
	if err := p.startReaper(); err != nil {
		p.log.Warn("nobody clears away after local machines if the daemon does not come back: run fed pool clear then", "err", err)
	}
}

func (p *Provider) startReaper() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.writeCommand(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(p.cfg.Dir, inside.ReaperFile), os.O_CREATE|os.O_RDWR, 0o600)
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
	log, err := os.OpenFile(filepath.Join(p.cfg.Dir, inside.ReaperLogFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.cfg.Agent, "-ward", p.cfg.Dir)
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
func (p *Provider) writeCommand() error {
	file := filepath.Join(p.cfg.Dir, inside.CommandFile)
	text, err := json.Marshal(p.cfg.Settle)
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
	p := &Provider{cfg: Config{Dir: dir, Now: time.Now}, log: log, gangs: map[string]*gang{}}
	if os.Geteuid() == 0 {
		p.net, err = lan.Find(bridgeOf(dir)) // the machines are cleared away whatever that says
	}
	if err := p.load(); err != nil {
		return err
	}
	for _, g := range p.gangs {
		for _, m := range p.machines(g) {
			if !m.Ended.IsZero() {
				continue
			}
			reason := p.lastWords(&m)
			err = errors.Join(err, p.stop(&m)) // it may not have begun
			_, bad := p.settle(g, &m, reason)
			err = errors.Join(err, bad)
		}
	}
	if p.net != nil {
		err = errors.Join(err, p.net.Remove(p.unused))
	}
	return err
}

// bridgeOf names the bridge of a directory's machines.
func bridgeOf(dir string) string {
	h := fnv.New32a()
	h.Write([]byte(dir))
	return lan.Name(h.Sum32())
}
