package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"fsub/cloud/container"
)

// unpack makes the container's root file system out of its image.
func (s *Spec) unpack(ctx context.Context, engine container.Engine) error {
	image, err := container.ParseImage(s.Options.Image)
	if err != nil {
		return err
	}
	if image.File == "" {
		if s.Loud {
			s.Say("pyxis: importing docker image: " + s.Options.Image)
		}
		if err := s.fetch(ctx, engine, &image); err != nil {
			return fmt.Errorf("failed to import docker image: %s: %w", s.Options.Image, err)
		}
		s.Say("pyxis: imported docker image: " + s.Options.Image)
		return nil
	}
	file := image.File
	if file[0] == '.' {
		file = filepath.Join(s.Dir, file)
	}
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("failed to create container filesystem for image: %s: no such file on this machine", s.Options.Image)
	}
	if err := s.unsquash(ctx, engine, file); err != nil {
		return fmt.Errorf("failed to create container filesystem for image: %s: %w", s.Options.Image, err)
	}
	return nil
}

func (s *Spec) unsquash(ctx context.Context, engine container.Engine, file string) error {
	if engine == container.Enroot {
		return s.run(ctx, container.EnrootCreate(s.Dirs, s.Options, s.name(), file))
	}
	if !s.has("unsquashfs") {
		return container.Missing("unsquashfs", "squashfs-tools", "an image in a squashfs file")
	}
	return s.run(ctx, container.Unsquash(file, s.rootfs()))
}

// fetch brings an image of a registry here.
func (s *Spec) fetch(ctx context.Context, engine container.Engine, image *container.Image) error {
	if engine == container.Podman {
		return s.podman(ctx, image)
	}
	file := s.path(s.name() + ".sqsh")
	defer os.Remove(file)
	if err := s.run(ctx, container.EnrootImport(s.Dirs, s.Options, image, file)); err != nil {
		return err
	}
	return s.unsquash(ctx, engine, file)
}

// podman has podman pull an image and write out its files.
func (s *Spec) podman(ctx context.Context, image *container.Image) error {
	for _, p := range []string{"podman", "tar"} {
		if !s.has(p) {
			return container.Missing(p, p, "an image of a registry")
		}
	}
	if err := ownDir(s.Dirs.RunRoot()); err != nil {
		return err
	}
	name := s.name()
	defer s.run(context.WithoutCancel(ctx), container.PodmanRemove(s.Dirs, name))
	if err := s.run(ctx, container.PodmanCreate(s.Dirs, image, name)); err != nil {
		return err
	}
	config, err := s.imageConfig(ctx, name)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.rootfs(), 0o755); err != nil {
		return err
	}
	if err := s.export(ctx, name); err != nil {
		return err
	}
	return s.writeConfig(config)
}

// ownDir makes a folder, or finds that it is this user's: its name can be guessed.
func ownDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s is there and is not a folder of this user alone: remove it", dir)
	}
	return nil
}

func (s *Spec) imageConfig(ctx context.Context, name string) (c container.ImageConfig, err error) {
	id, err := s.output(ctx, container.PodmanInspect(s.Dirs, name))
	if err != nil {
		return c, err
	}
	text, err := s.output(ctx, container.PodmanConfig(s.Dirs, string(trim(id))))
	if err != nil {
		return c, err
	}
	return container.ParseImageConfig(text)
}

func trim(text []byte) []byte {
	for len(text) > 0 && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return text
}

// export pipes podman's tar file into tar.
func (s *Spec) export(ctx context.Context, name string) error {
	log, err := s.logFile()
	if err != nil {
		return err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	from, to := s.cmd(container.PodmanExport(s.Dirs, name)), s.cmd(container.Untar(s.rootfs()))
	from.Stdout, from.Stderr, to.Stdin, to.Stderr = w, log, r, log
	unpacked := make(chan error, 1)
	go func() { unpacked <- waitFor(ctx, to) }()
	err = waitFor(ctx, from)
	w.Close()
	err = errors.Join(err, <-unpacked)
	r.Close()
	if err != nil {
		return errors.New(err.Error() + s.logged(log, "podman"))
	}
	return nil
}

// writeConfig leaves in the files what the image says of itself, as enroot does. Links of the image
// lead nowhere out of it.
func (s *Spec) writeConfig(c container.ImageConfig) error {
	root, err := os.OpenRoot(s.rootfs())
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll("etc", 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"etc/environment": c.Environment(), "etc/rc": c.RC(), "etc/rc.local": "# what is to be done before the entry point\n"} {
		if err := replace(root, name, text); err != nil {
			return err
		}
	}
	if dir := strings.Trim(path.Clean("/"+c.WorkingDir), "/"); dir != "" {
		_ = root.MkdirAll(dir, 0o755) // as Docker does; an image where that cannot be says so when it starts
	}
	return nil
}

// replace replaces a file: the old one may be a link, or not writable for the user.
func replace(root *os.Root, name, text string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return root.WriteFile(name, []byte(text), 0o644)
}

// save writes the container to a squashfs file.
func (s *Spec) save(ctx context.Context, engine container.Engine) error {
	if engine == container.Enroot {
		return s.run(ctx, container.EnrootExport(s.Dirs, s.Options, s.name(), s.Options.Save))
	}
	if !s.has("mksquashfs") {
		return container.Missing("mksquashfs", "squashfs-tools", "--container-save")
	}
	return s.run(ctx, container.Squash(s.rootfs(), s.Options.Save))
}
