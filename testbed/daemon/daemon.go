// Package daemon runs the real daemon, `fed serve`, over a bed, for tests and benchmarks that measure or torment it from
// outside. [Daemon] is one daemon with a directory of its own; [DialAs] reaches its socket as one of the bed's users.
// What is submitted and what must hold is left to the callers.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/bed"
)

// Options say what daemon to run.
type Options struct {
	Bed        *bed.Bed
	Sites      []string // of Bed, that are the federation's; none: all that are up
	Fed        string   // the fed binary
	Dir        string   // sockets, state, configurations and logs; made if missing
	Federation string   // name: no other daemon of the same sites may have it
	// Edit changes the configuration before it is written: the keys are those of the file. May be nil.
	Edit func(config map[string]any)
	// Store is the URL of a PostgreSQL, which as many daemons share as Count says; "": one daemon, on SQLite.
	Store string
	Count int // 0: 1
}

// Daemon is one daemon, or several that share a database and of which one leads. Its methods are for one goroutine, but for Socket and Client.
type Daemon struct {
	opts Options
	mu   sync.Mutex // of the processes' cmd
	all  []*process
}

// process is one fed serve.
type process struct {
	dir, suffix string // of its files
	log         *os.File
	cmd         *exec.Cmd // nil: it does not run
	done        chan struct{}
}

func (p *process) file(name, ext string) string { return filepath.Join(p.dir, name+p.suffix+ext) }
func (p *process) socket() string               { return p.file("fsub", ".sock") }

// New writes the daemon's configuration. It starts nothing.
func New(ctx context.Context, o Options) (*Daemon, error) {
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	sites, err := o.Bed.FedConfig(ctx, o.Sites)
	if err != nil {
		return nil, fmt.Errorf("make a configuration: %w", err)
	}
	text, err := yaml.Marshal(sites)
	if err != nil {
		return nil, fmt.Errorf("make a configuration: %w", err)
	}
	d := &Daemon{opts: o}
	for i := range max(o.Count, 1) {
		p := &process{dir: o.Dir}
		if i > 0 {
			p.suffix = strconv.Itoa(i + 1)
		}
		config := map[string]any{}
		if err := yaml.Unmarshal(text, &config); err != nil {
			return nil, fmt.Errorf("make a configuration: %w", err)
		}
		config["federation"], config["socket"], config["state_dir"] = o.Federation, p.socket(), p.file("state", "")
		if o.Edit != nil {
			o.Edit(config)
		}
		if o.Store != "" {
			config["store"] = o.Store
		}
		if o.Count > 1 {
			if err := share(config, o, i+1); err != nil {
				return nil, err
			}
		}
		if err := p.open(config); err != nil {
			return nil, err
		}
		d.all = append(d.all, p)
	}
	return d, nil
}

// share makes a configuration that of one of several.
func share(config map[string]any, o Options, number int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	if remote, ok := config["remote"].(map[string]any); ok && number > 1 { // all run on one machine: each has a port to itself
		host, text, err := net.SplitHostPort(fmt.Sprint(remote["listen"]))
		port, bad := strconv.Atoi(text)
		if err := errors.Join(err, bad); err != nil {
			return err
		}
		remote["listen"] = net.JoinHostPort(host, strconv.Itoa(port+number-1))
	}
	secret := filepath.Join(o.Dir, "secret")
	config["daemons"] = map[string]any{"name": "d" + strconv.Itoa(number), "listen": l.Addr().String(), "secret_file": secret}
	return os.WriteFile(secret, []byte(strings.Repeat("secret", 8)), 0o600)
}

func (p *process) open(config map[string]any) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("make a configuration: %w", err)
	}
	if err := os.WriteFile(p.file("fed", ".yaml"), text, 0o644); err != nil {
		return err
	}
	p.log, err = os.OpenFile(p.file("fed", ".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// Socket is the path of the daemon's socket: of several, of the last that runs, which at first is not the one that leads.
func (d *Daemon) Socket() string { return d.runs().socket() }

// Sockets are those of all processes.
func (d *Daemon) Sockets() (all []string) {
	for _, p := range d.all {
		all = append(all, p.socket())
	}
	return all
}

// runs is the last process that runs, else the first.
func (d *Daemon) runs() *process {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range slices.Backward(d.all) {
		if p.cmd != nil {
			return p
		}
	}
	return d.all[0]
}

// StateDir holds the daemon's store, if that is its own.
func (d *Daemon) StateDir() string { return d.all[0].file("state", "") }

// LogFile holds what all daemons in this directory have written: of several, those with the first one's socket.
func (d *Daemon) LogFile() string { return d.all[0].file("fed", ".log") }

// LogFiles are those of all.
func (d *Daemon) LogFiles() (all []string) {
	for _, p := range d.all {
		all = append(all, p.file("fed", ".log"))
	}
	return all
}

// Client speaks to the daemon as whoever this process is: root, and so an administrator.
func (d *Daemon) Client() *client.Client { return client.New(d.Socket()) }

// Start starts the daemon in the bed's login, where its users are known, and returns when it accepts connections. Of several those that do not run are started.
func (d *Daemon) Start(ctx context.Context) error {
	for _, p := range d.all {
		if p.cmd == nil {
			if err := d.start(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Daemon) start(ctx context.Context, p *process) error {
	cmd, err := d.opts.Bed.Start(context.WithoutCancel(ctx), bed.Cmd{
		Site: bed.Login, Args: []string{d.opts.Fed, "serve", "--config", p.file("fed", ".yaml")}, Stdout: p.log, Stderr: p.log,
	})
	if err != nil {
		return err
	}
	done := make(chan struct{})
	p.done = done
	go func() {
		cmd.Wait()
		close(done)
	}()
	for {
		if c, err := net.Dial("unix", p.socket()); err == nil {
			d.mu.Lock()
			p.cmd = cmd
			d.mu.Unlock()
			return c.Close()
		}
		select {
		case <-done:
			return fmt.Errorf("fed serve ended at once: %s (see %s)", p.lastLine(), p.log.Name())
		case <-ctx.Done():
			cmd.Process.Kill()
			return fmt.Errorf("fed serve does not listen: %w (see %s)", ctx.Err(), p.log.Name())
		case <-time.After(time.Millisecond):
		}
	}
}

func (p *process) lastLine() string {
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// AwaitSites returns when the daemon sees every site of its configuration.
func (d *Daemon) AwaitSites(ctx context.Context) error {
	c := d.Client()
	defer c.Close()
	for {
		sites, err := c.Sites(ctx)
		var silent []string
		for _, s := range sites {
			if !s.Answering {
				silent = append(silent, fmt.Sprintf("%s (%s)", s.Name, s.Error))
			}
		}
		if err == nil && len(sites) > 0 && len(silent) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("sites do not answer: %s", strings.Join(silent, ", ")), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// PID is the daemon's process, 0 if it does not run: of several, that of the one that leads.
func (d *Daemon) PID() int {
	if p := d.leads(); p.cmd != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// leads is the process that leads: the only one, or else as one that runs says.
func (d *Daemon) leads() *process {
	if len(d.all) == 1 {
		return d.all[0]
	}
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	c := d.Client()
	defer c.Close()
	all, _ := client.List(ctx, c, &v1.Daemons, v1.None{})
	for _, who := range all {
		n, err := strconv.Atoi(strings.TrimPrefix(who.Name, "d"))
		if who.Leads && err == nil && n <= len(d.all) {
			return d.all[n-1]
		}
	}
	return d.runs()
}

// Kill ends the daemon with SIGKILL: of several, the one that leads. One that does not run is not an error.
func (d *Daemon) Kill() { d.end(d.leads(), syscall.SIGKILL) }

// Stop asks the daemon to end, of several all, and waits.
func (d *Daemon) Stop() {
	for _, p := range d.all {
		d.end(p, syscall.SIGTERM)
	}
}

func (d *Daemon) end(p *process, sig syscall.Signal) {
	d.mu.Lock()
	cmd := p.cmd
	p.cmd = nil
	d.mu.Unlock()
	if cmd == nil {
		return
	}
	cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(20 * time.Second):
		cmd.Process.Kill()
		<-p.done
	}
}
