package bed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// inSite runs a program of the site's root filesystem as root inside the site.
func (b *Bed) inSite(ctx context.Context, holder procID, args ...string) error {
	return onThread(func() error {
		if err := enter(holder.PID, siteNamespaces...); err != nil {
			return err
		}
		path, err := lookPath(args[0], nil, "/")
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, path, args[1:]...)
		cmd.Env, cmd.Dir = []string{"PATH=" + sitePath, "LANG=C.UTF-8", "SLURM_CONF=/etc/slurm/slurm.conf"}, "/"
		return say(cmd)
	})
}

// run runs a program of the host.
func run(ctx context.Context, args ...string) error {
	return say(exec.CommandContext(ctx, args[0], args[1:]...))
}

func output(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// say runs a command; the error of one that fails carries what it said.
func say(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// lookPath finds a program in the PATH of env, in the root of the current thread.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	path := sitePath
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	for _, d := range filepath.SplitList(path) {
		file := filepath.Join(d, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: command not found", name)
}
