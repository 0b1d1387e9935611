package container

import (
	"fmt"
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

// Characters that the parts of a reference are made of.
const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	alphaNum = lower + upper + digits
)

// of reports whether s is not empty, has characters of inner only, and begins and ends with ones of first and last.
func of(s, first, inner, last string) bool {
	return s != "" && strings.Trim(s, inner) == "" && strings.IndexByte(first, s[0]) >= 0 && strings.IndexByte(last, s[len(s)-1]) >= 0
}

func goodRegistry(s string) bool {
	host, port, ok := strings.Cut(s, ":")
	return of(host, alphaNum, alphaNum+".-", alphaNum) && (!ok || of(port, digits, digits, digits))
}

func goodImage(s string) bool {
	return of(s, lower+digits, lower+digits+"/._-", lower+digits+"_-")
}

func goodTag(s string) bool {
	hash, digest := strings.CutPrefix(s, "sha256:")
	return of(s, alphaNum+"_", alphaNum+"._-", alphaNum+"._-") || digest && len(hash) == 64 && of(hash, digits+"abcdef", digits+"abcdef", digits+"abcdef")
}

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
	case !known, !goodImage(m.Name), m.Registry != "" && !goodRegistry(m.Registry),
		m.Tag != "" && !goodTag(m.Tag), strings.HasSuffix(ref, ":"):
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
