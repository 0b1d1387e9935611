package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"fsub/cloud/container"
)

// crun makes the bundle of a container whose files are there, and is the command that runs it.
func (s *Spec) crun(ctx context.Context, state string, argv []string) (*exec.Cmd, error) {
	root, err := os.OpenRoot(s.rootfs())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	env, err := s.imageEnv(root)
	if err != nil {
		return nil, err
	}
	if err := s.introduce(root); err != nil {
		return nil, err
	}
	if argv, err = s.throughRC(root, argv); err != nil {
		return nil, err
	}
	m := container.Make{Rootfs: s.rootfs(), Options: s.Options, Argv: argv, Env: env, UID: os.Geteuid(), GID: os.Getegid(), Home: s.Home, Binds: s.Binds, Exists: exists}
	if container.WantsGPUs(append(env, s.Env...)) && s.has("nvidia-ctk") {
		text, err := s.output(ctx, container.CDI())
		if err == nil {
			m.GPUs, err = container.ParseCDI(text)
		}
		if err != nil {
			return nil, fmt.Errorf("ask for what this machine's GPUs need: %w", err)
		}
	}
	text, err := container.NewBundle(m).JSON()
	if err != nil {
		return nil, err
	}
	dir := s.path("bundle", state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(dir+"/config.json", text, 0o600); err != nil {
		return nil, err
	}
	return s.cmd(container.CrunRun(s.Dirs, dir, state)), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// imageEnv is the holder's environment: the image's, and what its processes are found by when they
// outlive everything.
func (s *Spec) imageEnv(root *os.Root) ([]string, error) {
	text, err := root.ReadFile("etc/environment")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the image's /etc/environment: %w", err)
	}
	env := container.ReadEnvironment(string(text), s.Env)
	if path, _ := container.Lookup(env, "PATH"); path == "" {
		env = append(env, "PATH="+hostPath)
	}
	for _, name := range append([]string{"FSUB_SOCKET"}, s.Options.Env...) {
		if v, ok := container.Lookup(s.Env, name); ok {
			env = append(env, name+"="+v)
		}
	}
	if s.Options.RemapRoot == container.Yes { // as enroot finds it in the image's passwd
		env = append(env, "HOME=/root", "USER=root", "LOGNAME=root")
	}
	return env, nil
}

// introduce makes the user known to the image.
func (s *Spec) introduce(root *os.Root) error {
	if s.User == "" || strings.ContainsAny(s.User+s.Home, ":\n") {
		return nil
	}
	if err := root.MkdirAll("etc", 0o755); err != nil {
		return err
	}
	home := s.Home
	if home == "" {
		home = "/"
	}
	for name, line := range map[string]string{
		"etc/passwd": fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh", s.User, os.Geteuid(), os.Getegid(), home),
		"etc/group":  fmt.Sprintf("%s:x:%d:", s.User, os.Getegid()),
	} {
		text, err := root.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if with := container.WithUser(string(text), line); with != string(text) {
			if err := replace(root, name, with); err != nil {
				return err
			}
		}
	}
	return nil
}

// throughRC lets the image's /etc/rc start the holder, where it has one and a shell: that goes to
// the working directory, and runs the entry point if that is asked for.
func (s *Spec) throughRC(root *os.Root, argv []string) ([]string, error) {
	if _, err := root.Lstat("etc/rc"); err != nil {
		return argv, nil
	}
	if _, err := root.Lstat("bin/sh"); err != nil {
		if s.Options.Entrypoint == container.Yes {
			return nil, errors.New("the image has no /bin/sh, which --container-entrypoint needs")
		}
		return argv, nil
	}
	local := container.NoEntrypoint
	if s.Options.Entrypoint == container.Yes {
		local = "# what is to be done before the entry point\n"
	}
	return append([]string{"/bin/sh", "/etc/rc"}, argv...), replace(root, "etc/rc.local", local)
}
