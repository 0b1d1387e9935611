package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fsub/cloud/local/inside"
	"fsub/cloud/provider"
)

// Isolation is how far machines are machines of their own here. What is false is shared with the host.
type Isolation struct {
	Users     bool // in a user namespace of the daemon's user: what makes the others possible without root
	Processes bool // PID namespace. Without it a supervisor kills what a machine leaves behind
	Mounts    bool // mount namespace with its own /etc/hosts and /dev/shm. Without it the names of other machines do not resolve
	Names     bool // UTS namespace with its own host name
	Network   bool // network namespace, on the provider's bridge
}

// probe finds out what the kernel allows, by trying. The error says why there is not more.
func (h *host) probe() (Isolation, error) {
	full := Isolation{Users: os.Geteuid() != 0, Processes: true, Mounts: true, Names: true, Network: h.net.own}
	less := full
	less.Processes = false // where parts of /proc are hidden, as in containers, a new one cannot be mounted
	var why error
	for _, try := range []Isolation{full, less} {
		err := h.try(try)
		if err == nil {
			return try, why
		}
		if why == nil || why.Error() != err.Error() {
			why = errors.Join(why, err)
		}
	}
	return Isolation{}, why
}

func (h *host) try(i Isolation) error {
	dir, err := os.MkdirTemp(h.base, "probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := h.net.writeHosts(dir, &machine{}); err != nil {
		return err
	}
	spec := specOf(i, h.agent, "probe")
	spec.Probe = true
	return launchIn(dir, i, spec, nil)
}

func specOf(i Isolation, agent, name string) inside.Spec {
	s := inside.Spec{Agent: agent, Hosts: i.Mounts, Proc: i.Processes, Supervise: !i.Processes}
	if i.Names {
		s.Hostname = name
	}
	s.Sys = i.Mounts && i.Network
	if i.Mounts {
		s.Shm = sharedMemory("/dev/shm")
	}
	return s
}

// sharedMemory is how a machine's /dev/shm is mounted: as large as the host's. "": the host has none.
func sharedMemory(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return ""
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC || fs.Blocks == 0 {
		return "mode=1777"
	}
	return fmt.Sprintf("mode=1777,size=%d", fs.Blocks*uint64(fs.Bsize))
}

func (h *host) spec(m *machine) inside.Spec {
	s := specOf(h.isolationOf(m), h.agent, m.Name)
	s.Wait = h.net.linked(m)
	return s
}

// isolationOf is the machine's: its address says whether it has a network of its own.
func (h *host) isolationOf(m *machine) Isolation {
	i := h.isolation
	i.Network = h.net.linked(m)
	return i
}

func (h *host) launch(m *machine, s inside.Spec) error {
	if !h.net.linked(m) {
		return launchIn(h.dir(m.ID), h.isolationOf(m), s, nil)
	}
	return launchIn(h.dir(m.ID), h.isolationOf(m), s, func(pid int) error { return h.net.link(m, pid) })
}

// launchTime is how long a machine's process may take to become the agent.
const launchTime = 20 * time.Second

// launchIn starts a machine's process in its directory, and returns when it is the agent. link, if
// given, connects it to the network.
func launchIn(dir string, i Isolation, s inside.Spec, link func(pid int) error) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, inside.SpecFile), text); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, inside.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	said, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	wait, word, err := os.Pipe()
	if err != nil {
		report.Close()
		return err
	}
	defer word.Close()
	cmd := exec.Command(s.Agent, "-inside", dir)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "LANG=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{report, wait}
	cmd.SysProcAttr = i.attributes()
	err = cmd.Start()
	report.Close()
	wait.Close()
	if err != nil {
		return err
	}
	// It is to outlive the daemon, but while that lives it is its child.
	go func() { _ = cmd.Wait() }()
	if link != nil {
		if err := link(cmd.Process.Pid); err != nil {
			word.Close()                                                                // ends it, if it still runs
			if last := heard(said); last == nil || errors.Is(last, inside.ErrClaimed) { // without a word: not an agent, and so a machine that has ended
				return last
			}
			return err
		}
	}
	_, _ = word.Write([]byte{1})
	return heard(said)
}

// heard waits for the process to become the agent.
func heard(said *os.File) error {
	_ = said.SetReadDeadline(time.Now().Add(launchTime))
	text, err := io.ReadAll(said)
	switch {
	case err != nil:
		return fmt.Errorf("it does not begin: %w", err)
	case string(text) == inside.ErrClaimed.Error():
		return inside.ErrClaimed
	case len(text) > 0:
		return errors.New(strings.TrimSpace(string(text)))
	}
	return nil
}

// attributes are how a machine's process is started: in a session and in namespaces of its own.
func (i Isolation) attributes() *unix.SysProcAttr {
	a := &unix.SysProcAttr{Setsid: true}
	// With processes goes System V memory: who shares that is one machine for MPI (UCX 1.13), and
	// its processes look for each other by number.
	const processes = unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	for flag, on := range map[uintptr]bool{processes: i.Processes, unix.CLONE_NEWNS: i.Mounts, unix.CLONE_NEWUTS: i.Names, unix.CLONE_NEWNET: i.Network} {
		if on {
			a.Cloneflags |= flag
		}
	}
	if i.Users {
		// The user is the same inside. Ambient capabilities last over the first exec; the process
		// drops them when the namespaces are ready.
		uid, gid := os.Geteuid(), os.Getegid()
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	return a
}

// start makes a machine's directory and starts its process, unless it has one.
func (h *host) start(m *machine, r provider.Request) error {
	dir := h.dir(m.ID)
	if err := errors.Join(os.MkdirAll(dir, 0o711), os.Chmod(dir, 0o711)); err != nil {
		return err
	}
	if _, begun, err := h.process(m); err != nil || begun {
		return errors.Join(err, ifTrue(begun, inside.ErrClaimed))
	}
	boot := r.Boot
	boot.Path, boot.Agent, boot.PowerOff = h.agent, "", false
	boot.Instance, boot.Addr = string(m.ID), m.Addr
	boot.Metadata = "file:" + filepath.Join(dir, inside.NoticeFile)
	spec := h.spec(m)
	if h.isolation.Mounts {
		boot.Hosts = filepath.Join(dir, inside.HostsFile) // not as it is mounted: a mount goes when the host's own file is replaced, and then that would be written
		if err := h.net.writeHosts(dir, m); err != nil {
			return err
		}
		var err error
		if spec.Resolv, err = h.net.writeResolv(dir, m); err != nil {
			return err
		}
		if spec.Users, err = writeUsers(dir); err != nil {
			return err
		}
		if spec.Users {
			boot.Users = dir
		}
		if spec.Profile, err = writeProfile(dir); err != nil {
			return err
		}
	}
	if err := replaceFile(filepath.Join(dir, inside.BootFile), boot.Lines()); err != nil {
		return err
	}
	return h.launch(m, spec)
}

func ifTrue(b bool, err error) error {
	if b {
		return err
	}
	return nil
}

// writeUsers makes the machine's passwd and group: the host's, to which the agent adds users of
// jobs that the host does not have. Only root's machines run such jobs.
func writeUsers(dir string) (made bool, err error) {
	if os.Geteuid() != 0 {
		return false, nil
	}
	for file, etc := range map[string]string{inside.PasswdFile: "/etc/passwd", inside.GroupFile: "/etc/group"} {
		text, err := os.ReadFile(etc)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err == nil {
			err = writePublic(filepath.Join(dir, file), text)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
