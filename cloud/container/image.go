package container

import (
	"fmt"
	"regexp"
	"strings"
)

// Image is a reference of an image.
type Image struct {
	File   string // a squashfs file; "": one of a registry
	Scheme string // docker; dockerd or podman for what the machine has already
	User   string // whose credentials are meant; ""
	// Registry is "" where the reference names none: Docker's.
	Registry string
	Name     string // "nvidia/pytorch"
	Tag      string // "24.01-py3", or "sha256:..."; "" is latest
}

var (
	goodRegistry = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]+)?$`)
	goodImage    = regexp.MustCompile(`^[a-z0-9]([a-z0-9/._-]*[a-z0-9_-])?$`)
	goodTag      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	goodDigest   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ParseImage reads what --container-image takes: [docker://][USER@][REGISTRY#]IMAGE[:TAG][@DIGEST],
// REGISTRY/IMAGE where the registry has a dot or a port, or the path of a squashfs file, which
// begins with "/" or ".".
func ParseImage(ref string) (Image, error) {
	if ref == "" || strings.ContainsAny(ref, "\x00\n") {
		return Image{}, fmt.Errorf("invalid image reference: %q", ref)
	}
	if ref[0] == '/' || ref[0] == '.' {
		return Image{File: ref}, nil
	}
	m, rest := Image{Scheme: "docker"}, ref
	if scheme, after, ok := strings.Cut(ref, "://"); ok {
		m.Scheme, rest = scheme, after
	}
	if i := strings.LastIndex(rest, "@sha256:"); i >= 0 {
		rest, m.Tag = rest[:i], rest[i+1:]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		m.User, rest = rest[:i], rest[i+1:]
	}
	if registry, name, ok := strings.Cut(rest, "#"); ok {
		m.Registry, rest = registry, name
		if registry == "" {
			return m, fmt.Errorf("invalid image reference: %s", ref)
		}
	} else if first, name, ok := strings.Cut(rest, "/"); ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		m.Registry, rest = first, name
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		if m.Tag == "" { // beside a digest it says nothing
			m.Tag = rest[i+1:]
		}
		rest = rest[:i]
	}
	m.Name = rest
	return m, m.check(ref)
}

func (m *Image) check(ref string) error {
	known := m.Scheme == "docker" || m.Scheme == "dockerd" || m.Scheme == "podman"
	switch {
	case !known, !goodImage.MatchString(m.Name), m.Registry != "" && !goodRegistry.MatchString(m.Registry),
		m.Tag != "" && !goodTag.MatchString(m.Tag) && !goodDigest.MatchString(m.Tag), strings.HasSuffix(ref, ":"):
		return fmt.Errorf("invalid image reference: %s", ref)
	}
	return nil
}

// enroot is the reference in the form that enroot import takes. Like pyxis it passes on what is written.
func (m *Image) enroot(ref string) string {
	if strings.Contains(ref, "://") {
		return ref
	}
	return "docker://" + ref
}

// podman is the reference in the form that podman takes, with the transport where that is not a registry.
func (m *Image) podman() string {
	name := m.Name
	switch {
	case m.Scheme != "docker" && m.Registry == "":
	case m.Registry == "" || m.Registry == "registry-1.docker.io" || m.Registry == "docker.io":
		if !strings.Contains(name, "/") {
			name = "library/" + name
		}
		name = "docker.io/" + name
	case !strings.ContainsAny(m.Registry, ".:") && m.Registry != "localhost": // podman would take it for a part of the name
		name = m.Registry + ":443/" + name
	default:
		name = m.Registry + "/" + name
	}
	switch {
	case strings.HasPrefix(m.Tag, "sha256:"):
		name += "@" + m.Tag
	case m.Tag != "":
		name += ":" + m.Tag
	default:
		name += ":latest"
	}
	if m.Scheme == "dockerd" {
		return "docker-daemon:" + name
	}
	return name
}
