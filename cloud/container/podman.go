package container

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
)

// Podman brings images here, as the user and for the user alone. Nothing but one user is mapped, so
// that files of others in an image become the user's.

// Podman is a call of podman on the user's images. Without root it would ignore these settings in a
// storage.conf.
func (d Dirs) Podman(args ...string) Command {
	argv := []string{"podman", "--root=" + d.Images + "/storage", "--runroot=" + d.RunRoot(), "--storage-driver=overlay", "--storage-opt=overlay.ignore_chown_errors=true",
		"--cgroup-manager=cgroupfs", "--events-backend=none", "--log-level=fatal"} // what fails it says in any case; the rest is about users without further numbers
	return Command{append(argv, args...), []string{"XDG_RUNTIME_DIR=" + d.RunRoot()}}
}

// RunRoot is a folder for podman's locks: it takes none whose name is longer than 50 bytes, and
// always the same one for the same images.
func (d Dirs) RunRoot() string {
	if dir := d.Images + "/run"; len(dir) <= 50 {
		return dir
	}
	h := fnv.New64a()
	h.Write([]byte(d.Images))
	return "/tmp/fsub-podman-" + strconv.FormatUint(h.Sum64(), 36)
}

// PodmanCreate pulls an image, if the registry has a newer one, and makes a container of it that never runs.
func PodmanCreate(d Dirs, m *Image, name string) Command {
	pull := "newer"
	if m.Scheme == "podman" {
		pull = "never"
	}
	return d.Podman("create", "--quiet", "--pull="+pull, "--name="+name, m.podman(), "/")
}

// PodmanExport writes the container's files to stdout as a tar file.
func PodmanExport(d Dirs, name string) Command { return d.Podman("export", name) }

// PodmanInspect prints how the image should be run: an [ImageConfig].
func PodmanInspect(d Dirs, name string) Command {
	return d.Podman("container", "inspect", "--format={{.Image}}", name)
}

// PodmanConfig prints the configuration of an image by its number.
func PodmanConfig(d Dirs, image string) Command {
	return d.Podman("image", "inspect", "--format={{json .Config}}", image)
}

// PodmanRemove removes the container.
func PodmanRemove(d Dirs, name string) Command { return d.Podman("rm", "--force", name) }

// Untar unpacks what PodmanExport writes. Devices are the machine's, and all files the user's.
func Untar(dir string) Command {
	return Command{Argv: []string{"tar", "-x", "-p", "--no-same-owner", "--delay-directory-restore", "--exclude=dev/*", "-f", "-", "-C", dir}}
}

// Unsquash unpacks a squashfs file.
func Unsquash(file, dir string) Command {
	return Command{Argv: []string{"unsquashfs", "-no-progress", "-quiet", "-user-xattrs", "-dest", dir, file}}
}

// Squash writes a container's files to a squashfs file, owned by root as in an image.
func Squash(dir, file string) Command {
	return Command{Argv: []string{"mksquashfs", dir, file, "-noappend", "-all-root", "-no-progress", "-quiet"}}
}

// ImageConfig says how an image should be run.
type ImageConfig struct {
	Env        []string
	WorkingDir string
	Entrypoint []string
	Cmd        []string
}

// ParseImageConfig reads what [PodmanConfig] prints.
func ParseImageConfig(text []byte) (c ImageConfig, err error) {
	err = json.Unmarshal(text, &c)
	return c, err
}

// Environment is the image's /etc/environment, in enroot's form, as [ReadEnvironment] reads it. A
// value of several lines has no place there.
func (c *ImageConfig) Environment() string {
	var b strings.Builder
	for _, e := range c.Env {
		if !strings.Contains(e, "\n") {
			b.WriteString(e + "\n")
		}
	}
	return b.String()
}

// RC is the image's /etc/rc, in enroot's form: it goes to the working directory, reads
// /etc/rc.local, and runs the entry point.
func (c *ImageConfig) RC() string {
	dir := c.WorkingDir
	if dir == "" {
		dir = "/"
	}
	entry := make([]string, len(c.Entrypoint))
	for i, w := range c.Entrypoint {
		entry[i] = quoted(w) + " "
	}
	cmd := make([]string, len(c.Cmd))
	for i, w := range c.Cmd {
		cmd[i] = quoted(w)
	}
	if len(entry)+len(cmd) == 0 {
		cmd = []string{"/bin/sh"}
	}
	first := strings.Join(entry, "")
	return "mkdir -p " + quoted(dir) + " 2>/dev/null\ncd " + quoted(dir) + " && unset OLDPWD || exit 1\n\nif [ -s /etc/rc.local ]; then\n\t. /etc/rc.local\nfi\n\n" +
		"if [ $# -gt 0 ]; then\n\texec " + first + "\"$@\"\nelse\n\texec " + strings.TrimSpace(first+strings.Join(cmd, " ")) + "\nfi\n"
}

// NoEntrypoint is the /etc/rc.local by which an image's entry point is left out.
const NoEntrypoint = "exec \"$@\"\n"

// WithUser is a file like /etc/passwd or /etc/group with a line before the others, unless the file
// has a line of that number.
func WithUser(text, line string) string {
	want := strings.SplitN(line, ":", 4)
	for have := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSuffix(have, "\n"), ":", 4); len(f) > 2 && f[2] == want[2] {
			return text
		}
	}
	return line + "\n" + text
}
