// Package inside is the first moment of a local machine: what must be done within its namespaces
// before the agent can begin there. The agent's binary calls [Main] first; called as "fed-agent
// -inside DIR" it makes the machine and then becomes the agent. The end of all machines of a
// directory is here, too: see [Reap].
//
// It imports next to nothing, since every agent carries it.
package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Files of a machine's directory.
const (
	SpecFile    = "inside.json"
	BootFile    = "boot"    // what the agent is started with; it removes it
	ProcessFile = "process" // the one process that is the machine: see [Claim]
	HostsFile   = "hosts"   // the machine's /etc/hosts
	ProfileDir  = "profile" // the machine's /etc/profile.d
	ResolvFile  = "resolv"  // the machine's /etc/resolv.conf
	PasswdFile  = "passwd"  // the machine's /etc/passwd
	GroupFile   = "group"   // the machine's /etc/group
	NoticeFile  = "notice"  // agentapi.Notice in JSON once the machine's end is announced
	LogFile     = "agent.log"
)

// Spec says what to make.
type Spec struct {
	Agent    string `json:"agent"`    // path of its binary
	Hostname string `json:"hostname"` // "": the machine has the host's UTS namespace
	Hosts    bool   `json:"hosts"`    // its mount namespace is its own: HostsFile becomes /etc/hosts
	Profile  bool   `json:"profile"`  // and ProfileDir becomes /etc/profile.d
	Resolv   bool   `json:"resolv"`   // and ResolvFile becomes /etc/resolv.conf
	Users    bool   `json:"users"`    // and PasswdFile and GroupFile become /etc/passwd and /etc/group
	Proc     bool   `json:"proc"`     // its PID namespace is its own: it gets a /proc
	Sys      bool   `json:"sys"`      // its network namespace is its own: /sys shows the interfaces of that
	Shm      string `json:"shm"`      // mount options of a /dev/shm of its own; "": it has the host's
	// Supervise: there is no PID namespace whose end would end all processes. This process stays,
	// and kills what the agent leaves behind.
	Supervise bool `json:"supervise"`
	Wait      bool `json:"wait"` // for a word on descriptor 4 before the agent begins: until the link is there
	// Probe: only try.
	Probe bool `json:"probe"`
}

// Main returns at once unless the process was started as "NAME -inside DIR" or "NAME -ward DIR"
// (see [Reap]); then it never returns. Errors of a machine are written to descriptor 3, which is
// closed without a word when the agent begins.
func Main() {
	if len(os.Args) == 3 && os.Args[1] == "-ward" {
		if err := Reap(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) != 3 || os.Args[1] != "-inside" {
		return
	}
	runtime.LockOSThread() // capabilities are a thread's, and the thread that calls exec becomes the agent
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	report := os.NewFile(3, "report")
	if err := become(os.Args[2], report); err != nil {
		fmt.Fprint(report, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func become(dir string, report *os.File) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	text, err := os.ReadFile(SpecFile)
	if err != nil {
		return err
	}
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s: %w", SpecFile, err)
	}
	if !s.Probe {
		self, err := thisProcess()
		if err != nil {
			return err
		}
		if err := Claim(".", self.String()); err != nil {
			return err
		}
	}
	if s.Wait {
		if n, _ := io.ReadFull(os.NewFile(4, "go"), make([]byte, 1)); n == 0 {
			return errors.New("the process that started the machine has gone")
		}
	}
	if err := s.prepare(); err != nil || s.Probe {
		return err
	}
	argv := []string{filepath.Base(s.Agent), "-boot", BootFile}
	if s.Supervise {
		return supervise(s.Agent, argv, report)
	}
	return unix.Exec(s.Agent, argv, os.Environ())
}

// prepare makes the machine's view of the world, and then gives up what it took to make it.
func (s *Spec) prepare() error {
	if s.Hosts || s.Proc || s.Sys || s.Shm != "" {
		// Later mounts on the host must show here, but not the other way round.
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("make mounts slaves: %w", err)
		}
	}
	if err := s.mountEtc("."); err != nil {
		return err
	}
	if s.Shm != "" {
		if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, s.Shm); err != nil {
			return fmt.Errorf("mount /dev/shm: %w", err)
		}
	}
	if s.Sys {
		if err := showInterfaces(); err != nil {
			return fmt.Errorf("show the interfaces in /sys: %w", err)
		}
	}
	if s.Proc {
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mount /proc: %w", err)
		}
	}
	if s.Hostname != "" {
		if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
			return fmt.Errorf("set host name: %w", err)
		}
	}
	// In a user namespace these were lent for the above. The agent and its jobs are to have no more
	// than the user has.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// showInterfaces has /sys show the interfaces of this network namespace, and all else as it was:
// the cgroups below it are needed.
func showInterfaces() error {
	own, err := os.MkdirTemp(".", "sys-")
	if err != nil {
		return err
	}
	defer os.Remove(own)
	if err := unix.Mount("sysfs", own, "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	defer unix.Unmount(own, unix.MNT_DETACH)
	for _, dir := range []string{"class/net", "devices/virtual/net"} { // the first has links into the second
		if err := unix.Mount(filepath.Join(own, dir), filepath.Join("/sys", dir), "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}
