package agent

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/agentapi"
	"fsub/cloud/local/inside"
	"fsub/cloud/steps/wire"
)

// machine introduces this one.
func machine(nonce, instance, version string, list []agentapi.GPU) agentapi.Hello {
	name, _ := os.Hostname()
	return agentapi.Hello{Instance: instance, Nonce: nonce, Version: version, Hostname: name, CPUs: runtime.NumCPU(), MemMiB: memory("MemTotal"), GPUs: list, Booted: time.Now().UTC(), Suspends: true}
}

// memory is a line of /proc/meminfo, in MiB.
func memory(name string) int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n >> 10
		}
	}
	return 0
}

func machineLoad() *agentapi.Load {
	l := &agentapi.Load{FreeMi: memory("MemAvailable")}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		l.Load1, _ = strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	}
	return l
}

// instance is the provider's ID of the machine.
func (a *Agent) instance(ctx context.Context) (string, error) {
	m := metadataOf(a.cfg.Boot.Metadata)
	if a.cfg.Boot.Instance != "" || m == nil {
		return a.cfg.Boot.Instance, nil
	}
	for wait := newBackoff(); ; {
		id, err := m.instance(ctx)
		if err == nil {
			return id, nil
		}
		a.log.Warn("no instance ID", "err", err)
		if wait.sleep(ctx) != nil {
			return "", fmt.Errorf("instance metadata: %w", err)
		}
	}
}

// Addr returns the address at which the machines of the gang reach this one: the configured one,
// the one that the cloud names, or the one from which it reaches the daemon.
func Addr(ctx context.Context, b agentapi.Boot) string {
	if b.Addr != "" {
		return b.Addr
	}
	if m := metadataOf(b.Metadata); m != nil {
		if ip, err := m.addr(ctx); err == nil && net.ParseIP(ip) != nil {
			return ip
		}
	}
	u, err := url.Parse(b.Servers()[0])
	if err != nil || u.Scheme != "https" {
		return "127.0.0.1"
	}
	c, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))) // sends nothing
	if err != nil {
		return "127.0.0.1"
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
}

func setHostname(name string) error {
	return os.NewSyscallError("sethostname", unix.Sethostname([]byte(name)))
}

// keepEtc holds what a machine of its host's root has of its own in /etc, until ctx ends.
func (a *Agent) keepEtc(ctx context.Context) {
	if a.cfg.Boot.Users == "" {
		return
	}
	warn := func(err error) {
		a.log.Warn("this machine sees the host's files of /etc once these are replaced", "err", err)
	}
	if err := inside.Keep(ctx, a.cfg.Boot.Users, warn); err != nil {
		warn(err)
	}
}

// adopt makes orphans of the agent's processes its own: those of a keeper that was killed.
func adopt() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// openWay lets users of jobs search the agent's directory. They cannot list it.
func openWay(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&0o011 == 0o011 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o711)
}

// names are the commands that the agent's binary is.
var names = []string{"srun", "sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "sacctmgr", "sshare", "sprio", "sstat", "seff", "sreport",
	"sdiag", "sbcast", "salloc", "sattach", "strigger", "scrontab", "fsub", wire.Relay}

// commands is the folder of the commands; "": there is none.
func (a *Agent) commands() string {
	if a.cfg.Program == "" {
		return ""
	}
	return filepath.Join(a.cfg.Dir, "bin")
}

func (a *Agent) linkCommands() error {
	if a.cfg.Program == "" {
		return nil
	}
	if err := os.MkdirAll(a.commands(), 0o755); err != nil {
		return err
	}
	program := a.cfg.Program
	if os.Geteuid() == 0 && !reachable(program) { // users could not start it there
		own := filepath.Join(a.cfg.Dir, "fed-agent")
		if err := copyProgram(program, own); err != nil {
			return err
		}
		program = own
	}
	for _, name := range append(slices.Clone(names), "ssh", "fsub-copy") { // these in jobs only: to others ssh means the machine's own
		link := filepath.Join(a.commands(), name)
		os.Remove(link)
		if err := os.Symlink(program, link); err != nil {
			return err
		}
	}
	if a.cfg.Boot.PowerOff && os.Geteuid() == 0 {
		linkEverywhere("/usr/local/bin", program)
	}
	return nil
}

// linkEverywhere puts the commands where login shells find them too, since these set PATH. It does
// so on machines that belong to the agent alone, and replaces nothing.
func linkEverywhere(dir, program string) {
	for _, name := range names {
		os.Symlink(program, filepath.Join(dir, name))
	}
}

// reachable reports whether everybody may run a program, by the modes on its way.
func reachable(path string) bool {
	for ; ; path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode()&1 == 0 {
			return false
		}
		if path == "/" {
			return true
		}
	}
}

// copyProgram makes a program that everybody may run; where it is that already, as after the boot
// script, only its mode changes.
func copyProgram(from, to string) error {
	if from == to {
		return os.Chmod(to, 0o755)
	}
	os.Remove(to)
	if os.Link(from, to) == nil {
		return os.Chmod(to, 0o755)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
