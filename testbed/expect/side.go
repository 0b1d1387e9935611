package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fsub/testbed/bed"
	"fsub/testbed/daemon"
)

const (
	site = "delta" // Slurm 22.05, which the suite is of
	user = "alice" // who runs the tests that do not need root, and in whose home they are
)

// unskip takes out of slurm.conf what tests are skipped for: a default time limit, and that a job beyond its partition's limits waits.
const unskip = `sed -i -e 's/ DefaultTime=[^ ]*//' -e '$aEnforcePartLimits=ANY' /etc/slurm/slurm.conf && scontrol reconfigure`

// ours are the commands that are fsub on our side.
var ours = []string{"sbatch", "squeue", "scancel", "sinfo", "sacct", "scontrol"}

// side is one cluster with the suite in its user's home.
type side struct {
	options
	name   string
	b      *bed.Bed
	daemon *daemon.Daemon // of our side only
}

// newSide starts a cluster and puts the suite into it. After an error the side, if there is one, must be closed too.
func newSide(ctx context.Context, o options, name string) (*side, error) {
	b, err := bed.Open(o.bed + "-" + name)
	if err != nil {
		return nil, err
	}
	s := &side{options: o, name: name, b: b}
	if err := b.Up(ctx, []string{site}, os.Stderr); err != nil {
		return s, err
	}
	if err := s.inSite(ctx, nil, "sh", "-c", unskip); err != nil {
		return s, fmt.Errorf("change slurm.conf: %w", err)
	}
	if err := s.install(ctx); err != nil {
		return s, err
	}
	if err := os.MkdirAll(s.logDir(), 0o755); err != nil || name == "real" {
		return s, err
	}
	return s, s.startDaemon(ctx)
}

func (s *side) logDir() string       { return filepath.Join(s.logs, s.name) }
func (s *side) home(p string) string { return filepath.Join(s.b.Home(user), p) }

// close stops the daemon, and removes the cluster unless it is to be kept.
func (s *side) close(ctx context.Context) error {
	if s.daemon != nil {
		s.daemon.Stop()
	}
	if s.keep {
		return nil
	}
	return s.b.Down(ctx, nil, true, nil)
}

// install copies the suite, its settings and its programs to the site.
func (s *side) install(ctx context.Context) error {
	for _, dir := range []string{"expect", "src", "build"} {
		if err := os.RemoveAll(s.home(dir)); err != nil {
			return err
		}
		if err := os.Mkdir(s.home(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.CopyFS(s.home("expect"), os.DirFS(s.suite)); err != nil {
		return fmt.Errorf("copy the suite: %w", err)
	}
	conf := fmt.Sprintf("SlurmSourceDir=%s\nSlurmBuildDir=%s\nSlurmInstallDir=/usr\nSlurmConfigDir=/etc/slurm\n", s.home("src"), s.home("build"))
	globals := "set partition main\n"
	if s.name == "ours" {
		for _, c := range ours {
			globals += fmt.Sprintf("set %s %s\n", c, filepath.Join(s.b.BinDir(), c))
		}
	}
	for name, text := range map[string]string{"testsuite.conf": conf, "globals.local": globals} {
		if err := os.WriteFile(s.home(name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := s.installPackages(ctx); err != nil {
		return err
	}
	return s.chown()
}

// chown gives the suite to its user: tests write beside themselves.
func (s *side) chown() error {
	u, err := bed.FindUser(user)
	if err != nil {
		return err
	}
	return filepath.WalkDir(s.b.Home(user), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, u.UID, u.UID)
	})
}

// startDaemon starts a daemon over the site, and gives users and jobs there our commands.
func (s *side) startDaemon(ctx context.Context) error {
	if err := s.b.InstallCommands(s.fsub); err != nil {
		return err
	}
	var err error
	s.daemon, err = daemon.New(ctx, daemon.Options{Bed: s.b, Fed: s.fed, Dir: s.b.FedDir(), Federation: "expect", Edit: func(config map[string]any) {
		for _, c := range config["sites"].([]any) {
			c := c.(map[string]any)
			c["commands"], c["daemon"] = s.b.BinDir(), s.b.SocketFile()
		}
	}})
	if err != nil {
		return err
	}
	if err := s.daemon.Start(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return s.daemon.AwaitSites(ctx)
}

// inSite runs a command at the site as root.
func (s *side) inSite(ctx context.Context, stdin io.Reader, args ...string) error {
	var said strings.Builder
	if err := s.b.Exec(ctx, bed.Cmd{Site: site, Args: args, Stdin: stdin, Stdout: &said, Stderr: &said}); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}
