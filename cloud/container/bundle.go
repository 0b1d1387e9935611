package container

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Bind is a file or a folder of the machine that a container sees under its own path.
type Bind struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

func (b Bind) flag() string {
	if b.ReadOnly {
		return ",ro"
	}
	return ""
}

// Bundle is the description of a container for crun: enough of OCI's runtime specification 1.0 for
// one that shares everything with its machine but files and users.
type Bundle struct {
	Version string        `json:"ociVersion"`
	Process bundleProcess `json:"process"`
	Root    bundleRoot    `json:"root"`
	Mounts  []bundleMount `json:"mounts"`
	Hooks   *bundleHooks  `json:"hooks,omitempty"`
	Linux   bundleLinux   `json:"linux"`
}

type bundleProcess struct {
	User struct {
		UID int `json:"uid"`
		GID int `json:"gid"`
	} `json:"user"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Cwd  string   `json:"cwd"`
}

type bundleRoot struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"readonly"`
}

type bundleMount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options"`
}

type bundleHooks struct {
	CreateRuntime   []Hook `json:"createRuntime,omitempty"`
	CreateContainer []Hook `json:"createContainer,omitempty"`
	StartContainer  []Hook `json:"startContainer,omitempty"`
}

// Hook is a program that is run while a container is made.
type Hook struct {
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
}

type bundleLinux struct {
	Namespaces []bundleNamespace `json:"namespaces"`
	UIDs       []bundleID        `json:"uidMappings"`
	GIDs       []bundleID        `json:"gidMappings"`
}

type bundleNamespace struct {
	Type string `json:"type"`
}

type bundleID struct {
	Inside  int `json:"containerID"`
	Outside int `json:"hostID"`
	Size    int `json:"size"`
}

// Make is what a Bundle is made of.
type Make struct {
	Rootfs   string
	Options  *Options
	Argv     []string // of the holder
	Env      []string
	UID, GID int
	Home     string // of the user on the machine; "": none
	Binds    []Bind
	Exists   func(path string) bool // on the machine
	GPUs     *Edits                 // what the machine's GPUs need in the container; nil: none
}

// NewBundle returns the container in which enroot would run the same image: read-only by default,
// with the machine's /proc, /sys and /dev, names and network, a /tmp of its own, and one user, the job's.
func NewBundle(m Make) *Bundle {
	o := m.Options
	b := &Bundle{Version: "1.0.2", Root: bundleRoot{m.Rootfs, o.Writable != Yes}}
	b.Process.Args, b.Process.Env, b.Process.Cwd = m.Argv, m.Env, "/"
	uid, gid := m.UID, m.GID
	if o.RemapRoot == Yes {
		uid, gid = 0, 0
	}
	b.Process.User.UID, b.Process.User.GID = uid, gid
	b.Linux.Namespaces = []bundleNamespace{{"user"}, {"mount"}}
	for _, ns := range o.Unshare {
		b.Linux.Namespaces = append(b.Linux.Namespaces, bundleNamespace{map[string]string{"net": "network", "ipc": "ipc", "uts": "uts"}[ns]})
	}
	b.Linux.UIDs, b.Linux.GIDs = []bundleID{{uid, m.UID, 1}}, []bundleID{{gid, m.GID, 1}}
	b.mountAll(&m)
	if m.GPUs != nil {
		m.GPUs.apply(b)
	}
	b.mountUsers(o.Mounts) // last, since they may lie in any other
	return b
}

// mountAll adds what every container has.
func (b *Bundle) mountAll(m *Make) {
	for _, dir := range [...]string{"/proc", "/sys", "/dev"} {
		b.bind(dir, dir, "rbind", "rslave")
	}
	if slices.Contains(m.Options.Unshare, "ipc") {
		b.tmpfs("/dev/shm", "mode=1777", "nosuid", "nodev")
	}
	for _, dir := range [...]string{"/tmp", "/var/run", "/var/lock"} {
		b.tmpfs(dir, "mode=1777", "nosuid", "nodev")
	}
	for _, file := range [...]string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/etc/machine-id"} {
		if m.Exists(file) {
			b.bind(file, file, "bind", "ro")
		}
	}
	if m.Options.MountHome == Yes && m.Home != "" {
		at := m.Home
		if m.Options.RemapRoot == Yes {
			at = "/root"
		}
		b.bind(m.Home, at, "rbind")
	}
	for _, f := range m.Binds {
		options := []string{"rbind"}
		if f.ReadOnly {
			options = append(options, "ro")
		}
		b.bind(f.Path, f.Path, options...)
	}
}

func (b *Bundle) bind(source, at string, options ...string) {
	b.Mounts = append(b.Mounts, bundleMount{at, "bind", source, options})
}

func (b *Bundle) tmpfs(at string, options ...string) {
	b.Mounts = append(b.Mounts, bundleMount{at, "tmpfs", "tmpfs", options})
}

// mountUsers adds the mounts of the options. What enroot takes beside mount(8)'s options has no meaning here.
func (b *Bundle) mountUsers(mounts []Mount) {
	for _, m := range mounts {
		at := path.Join("/", m.Target)
		flags := slices.DeleteFunc(slices.Clone(m.Flags), func(f string) bool {
			return strings.HasPrefix(f, "x-") || f == "nofail" || f == "silent"
		})
		switch m.Source {
		case "umount":
			b.Mounts = slices.DeleteFunc(b.Mounts, func(x bundleMount) bool { return x.Destination == at })
		case "tmpfs":
			b.tmpfs(at, flags...)
		default:
			if !slices.Contains(flags, "bind") {
				flags = append([]string{"rbind"}, flags...)
			}
			b.bind(m.Source, at, flags...)
		}
	}
}

// JSON is the bundle's config.json.
func (b *Bundle) JSON() ([]byte, error) { return json.MarshalIndent(b, "", "\t") }

// CrunRun starts the container of the bundle in dir and waits for its end.
func CrunRun(d Dirs, dir, id string) Command {
	return Command{Argv: []string{"crun", "--root", d.Run + "/crun", "--cgroup-manager=disabled", "run", "--bundle", dir, id}}
}
