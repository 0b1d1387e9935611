package local

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

// Delete implements provider.Provider. It returns when the machines are ended.
func (p *Provider) Delete(_ context.Context, ids []provider.InstanceID) error {
	var all sync.WaitGroup
	errs := make([]error, len(ids))
	for n, id := range ids {
		g, m := p.find(id)
		if g == nil || !m.Ended.IsZero() {
			continue
		}
		all.Go(func() {
			g.life.RLock()
			defer g.life.RUnlock()
			if errs[n] = p.end(&m); errs[n] == nil {
				_, errs[n] = p.settle(g, &m, "deleted")
			}
		})
	}
	all.Wait()
	if p.net != nil {
		errs = append(errs, p.net.Remove(p.unused))
		ids = append(slices.Clone(ids), "the network")
	}
	for n, err := range errs {
		if err != nil {
			return refuse(provider.KindUnavailable, provider.ScopeCloud, fmt.Errorf("end %s: %w", ids[n], err))
		}
	}
	return nil
}

// unused reports whether the bridge has no machines.
func (p *Provider) unused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.gangs {
		if slices.ContainsFunc(g.Machines, func(m machine) bool { return p.linked(&m) && p.present(&m) }) {
			return false
		}
	}
	return true
}

func (p *Provider) find(id provider.InstanceID) (*gang, machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token, _, _ := strings.Cut(string(id), ".")
	if g := p.gangs[token]; g != nil {
		for _, m := range g.Machines {
			if m.ID == id {
				return g, m
			}
		}
	}
	return nil, machine{}
}

// endTime is how long a machine's processes may take to die of SIGKILL.
const endTime = 30 * time.Second

// superviseTime is how long a supervisor may take to kill them; on a busy machine it may not run
// for some time.
const superviseTime = 10 * time.Second

// end kills a machine, or sees to it that it never begins. Its directory stays, and with it the
// word that nobody may begin it.
func (p *Provider) end(m *machine) error {
	if err := os.MkdirAll(p.dir(m.ID), 0o700); err != nil {
		return err
	}
	return p.stop(m)
}

// stop is end for a machine that nobody would begin without its directory: it makes none, for
// somebody may be removing all of them.
func (p *Provider) stop(m *machine) error {
	_ = inside.Claim(p.dir(m.ID), inside.Nobody) // a concurrent start is too late, or was first
	proc, _, err := p.process(m)
	if err != nil {
		return err
	}
	if err := p.kill(proc); err != nil {
		return err
	}
	p.clear(m)
	return nil
}

// clear removes what a machine without processes has outside of its directory.
func (p *Provider) clear(m *machine) {
	if p.linked(m) {
		p.net.Unlink(m.Addr) // it would go by itself, a little later
	}
	removeCgroups(m.ID)
	// Where the machine's directory has a long name its agent keeps its sockets elsewhere.
	for _, parent := range []string{"/run", "/tmp"} {
		dirs, _ := filepath.Glob(parent + "/fsub-agent-" + string(m.ID) + "-*")
		for _, dir := range dirs {
			_ = os.RemoveAll(dir) // one that is somebody else's stays
		}
	}
}

// kill ends a machine's processes. SIGKILL does for the first of a PID namespace; to a supervisor
// SIGTERM is the sign to kill all of them, and it has a moment for it.
func (p *Provider) kill(proc inside.Process) error {
	began := time.Now()
	sig, next := unix.SIGKILL, endTime
	if !p.isolation.Processes {
		sig, next = unix.SIGTERM, superviseTime
	}
	if err := proc.Signal(sig); err != nil {
		return err
	}
	for proc.Alive() {
		switch waited := time.Since(began); {
		case waited > endTime:
			return fmt.Errorf("process %d does not end", proc.PID)
		case waited > next:
			next = endTime
			if err := proc.Signal(unix.SIGKILL); err != nil {
				return err
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// Announce tells a machine that it is going to be taken: what a cloud's metadata service does
// before it takes back a spot machine.
func (p *Provider) Announce(id provider.InstanceID, n agentapi.Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(p.dir(id), inside.NoticeFile), text)
}

// Withdraw implements provider.Provider: nothing is ever queued.
func (p *Provider) Withdraw(context.Context, string) error { return nil }
