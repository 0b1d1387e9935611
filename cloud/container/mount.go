package container

import (
	"fmt"
	"slices"
	"strings"
)

// Mount is one of --container-mounts: SRC:DST[:FLAGS].
type Mount struct {
	Source string   `json:"source"` // a path, "tmpfs", or "umount" for a target without the mount that all containers have
	Target string   `json:"target"`
	Flags  []string `json:"flags,omitempty"` // "ro", "rprivate", "size=1G" ..., behind those that go without saying
}

// addMounts reads SRC:DST[:FLAG+FLAG][,...]; a SRC alone is its own DST.
func (o *Options) addMounts(value string) error {
	for entry := range strings.SplitSeq(value, ",") {
		m, err := parseMount(entry)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(o.Mounts, m.equal) {
			o.Mounts = append(o.Mounts, m)
		}
	}
	return nil
}

func (m Mount) equal(x Mount) bool {
	return m.Source == x.Source && m.Target == x.Target && slices.Equal(m.Flags, x.Flags)
}

func parseMount(entry string) (Mount, error) {
	src, rest, more := strings.Cut(entry, ":")
	dst, flags, _ := strings.Cut(rest, ":")
	if !more {
		dst = src
	}
	if src == "" || dst == "" || strings.ContainsAny(entry, "\x00\n") {
		return Mount{}, fmt.Errorf("--container-mounts: invalid format: %s", entry)
	}
	m := Mount{Source: src, Target: dst}
	if flags != "" {
		m.Flags = strings.FieldsFunc(flags, func(r rune) bool { return r == '+' || r == ',' })
	}
	switch {
	case !m.isPath() && src != "tmpfs" && src != "umount":
		return m, fmt.Errorf(`mount source must be a relative path, an absolute path, "tmpfs" or "umount": %s`, src)
	case dst[0] != '/' && dst[0] != '.':
		return m, fmt.Errorf("mount target must be a relative path or an absolute path: %s", dst)
	}
	for _, f := range m.Flags {
		if !goodFlag(f) {
			return m, fmt.Errorf("--container-mounts: invalid flag %q: %s", f, entry)
		}
	}
	return m, nil
}

// bindFlags are what crun takes for a bind mount, and what enroot takes beside that.
var bindFlags = strings.Fields("bind rbind ro rw private rprivate shared rshared slave rslave unbindable runbindable exec noexec suid nosuid dev nodev atime noatime " +
	"diratime nodiratime relatime norelatime strictatime sync async nofail silent defaults")

// Check refuses flags that would be passed over by what mounts it.
func (m *Mount) Check(engine Engine) error {
	if engine != Podman || m.Source == "tmpfs" || m.Source == "umount" {
		return nil
	}
	for _, f := range m.Flags {
		if !slices.Contains(bindFlags, f) && !strings.HasPrefix(f, "x-create=") {
			return fmt.Errorf("--container-mounts: unknown flag %q of %s:%s", f, m.Source, m.Target)
		}
	}
	return nil
}

// isPath: the source is a file or a folder.
func (m *Mount) isPath() bool { return m.Source[0] == '/' || m.Source[0] == '.' }

// goodFlag: what enroot's fstab takes as a mount option, and a word of it in every case.
func goodFlag(f string) bool {
	return !strings.ContainsFunc(f, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\$`+"`", r) })
}
