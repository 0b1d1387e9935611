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
	"strings"
	"syscall"
	"time"

	"github.com/goccy/go-yaml"

	"fsub/federation/api/client"
	"fsub/testbed/bed"
)

// Options say what daemon to run.
type Options struct {
	Bed        *bed.Bed
	Sites      []string // of Bed, that are the federation's; none: all that are up
	Fed        string   // the fed binary
	Dir        string   // socket, state, configuration and log; made if missing
	Federation string   // name: no other daemon of the same sites may have it
	// Edit changes the configuration before it is written: the keys are those of the file. May be nil.
	Edit func(config map[string]any)
}

// Daemon is one daemon. Its methods are for one goroutine, but for Socket and Client.
type Daemon struct {
	opts Options
	log  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

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
	config := map[string]any{}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("make a configuration: %w", err)
	}
	d := &Daemon{opts: o}
	config["federation"], config["socket"], config["state_dir"] = o.Federation, d.Socket(), d.StateDir()
	if o.Edit != nil {
		o.Edit(config)
	}
	if text, err = yaml.Marshal(config); err != nil {
		return nil, fmt.Errorf("make a configuration: %w", err)
	}
	if err := os.WriteFile(d.configFile(), text, 0o644); err != nil {
		return nil, err
	}
	d.log, err = os.OpenFile(d.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return d, err
}

// Socket is the path of the daemon's socket.
func (d *Daemon) Socket() string { return filepath.Join(d.opts.Dir, "fsub.sock") }

// StateDir holds the daemon's store.
func (d *Daemon) StateDir() string { return filepath.Join(d.opts.Dir, "state") }

// LogFile holds what all daemons in this directory have written.
func (d *Daemon) LogFile() string    { return filepath.Join(d.opts.Dir, "fed.log") }
func (d *Daemon) configFile() string { return filepath.Join(d.opts.Dir, "fed.yaml") }

// Client speaks to the daemon as whoever this process is: root, and so an administrator.
func (d *Daemon) Client() *client.Client { return client.New(d.Socket()) }

// Start starts the daemon in the bed's login, where its users are known, and returns when it accepts connections.
func (d *Daemon) Start(ctx context.Context) error {
	cmd, err := d.opts.Bed.Start(context.WithoutCancel(ctx), bed.Cmd{
		Site: bed.Login, Args: []string{d.opts.Fed, "serve", "--config", d.configFile()}, Stdout: d.log, Stderr: d.log,
	})
	if err != nil {
		return err
	}
	done := make(chan struct{})
	d.cmd, d.done = cmd, done
	go func() {
		cmd.Wait()
		close(done)
	}()
	for {
		if c, err := net.Dial("unix", d.Socket()); err == nil {
			return c.Close()
		}
		select {
		case <-done:
			return fmt.Errorf("fed serve ended at once: %s (see %s)", d.lastLine(), d.LogFile())
		case <-ctx.Done():
			return fmt.Errorf("fed serve does not listen: %w (see %s)", ctx.Err(), d.LogFile())
		case <-time.After(time.Millisecond):
		}
	}
}

func (d *Daemon) lastLine() string {
	text, err := os.ReadFile(d.LogFile())
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

// PID is the daemon's process, 0 if it does not run.
func (d *Daemon) PID() int {
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// Kill ends the daemon with SIGKILL. One that does not run is not an error.
func (d *Daemon) Kill() { d.end(syscall.SIGKILL) }

// Stop asks the daemon to end, and waits.
func (d *Daemon) Stop() { d.end(syscall.SIGTERM) }

func (d *Daemon) end(sig syscall.Signal) {
	if d.cmd == nil {
		return
	}
	d.cmd.Process.Signal(sig)
	select {
	case <-d.done:
	case <-time.After(20 * time.Second):
		d.cmd.Process.Kill()
		<-d.done
	}
	d.cmd = nil
}
