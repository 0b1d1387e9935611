package bed

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sitePackages are what a root filesystem has beyond the base system.
var sitePackages = []string{
	"slurmctld", "slurmd", "slurmdbd", "slurmrestd", "slurm-client", "slurm-wlm-basic-plugins", "slurm-wlm-plugins",
	"slurm-wlm-mysql-plugin", "slurm-wlm-jwt-plugin", "munge", "mariadb-server", "curl", "iproute2", "procps", "hostname",
}

// buildRoot makes a root filesystem from the mirror and packs it into the cache.
func (b *Bed) buildRoot(ctx context.Context, suite, packed string, say teller) error {
	return b.build(ctx, suite, suite, say, []step{
		{"Slurm and MariaDB", func(ctx context.Context, bl builder) error { return bl.install(ctx, sitePackages, siteScript) }},
		{"packing", func(ctx context.Context, bl builder) error { return bl.pack(ctx, packed) }},
	})
}

// Tree makes sure that the cache has a root filesystem of a Debian release with some packages, and returns its directory. It is for programs that this machine's release
// does not have; no site runs in it.
func (b *Bed) Tree(ctx context.Context, name, suite string, packages []string, w io.Writer) (string, error) {
	dir := filepath.Join(b.opts.Cache, name+"-"+runtime.GOARCH)
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if thisBoot(dir) {
		return dir, nil
	}
	say := newTeller(w)
	if err := b.installHostPackages(ctx, say); err != nil {
		return "", err
	}
	err = b.build(ctx, name, suite, say, []step{
		{strings.Join(packages, ", "), func(ctx context.Context, bl builder) error { return bl.install(ctx, packages, "") }},
		{"moving", func(_ context.Context, bl builder) error { return appear(bl.dir, dir) }},
	})
	if err != nil {
		return "", fmt.Errorf("build %s: %w", dir, err)
	}
	return dir, nil
}

// step is a part of what makes a root filesystem.
type step struct {
	what string
	do   func(context.Context, builder) error
}

// build makes the base system of a release, and takes the steps with it.
func (b *Bed) build(ctx context.Context, name, suite string, say teller, steps []step) error {
	if err := needSpace(b.opts.Cache, 2<<30); err != nil {
		return err
	}
	mirror := b.opts.Mirror
	if mirror == "" {
		var err error
		if mirror, err = systemMirror(ctx, "/"); err != nil {
			return err
		}
	}
	work := filepath.Join(b.opts.Cache, "build-"+name)
	if err := os.RemoveAll(work); err != nil { // of a build that was killed
		return err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	logFile, err := os.Create(work + ".log")
	if err != nil {
		return err
	}
	defer logFile.Close()
	begun := time.Now()
	bl := builder{suite: suite, mirror: mirror, dir: filepath.Join(work, "root"), log: logFile}
	dump, _ := output(ctx, "apt-config", "dump")
	bl.aptConf, bl.proxy = acquireOptions(dump)

	say("%s: building the root filesystem from %s (log: %s)", name, hidePassword(mirror), logFile.Name())
	base := step{"base system", func(ctx context.Context, bl builder) error { return bl.bootstrap(ctx) }}
	for _, s := range append([]step{base}, steps...) {
		if err := s.do(ctx, bl); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		say("%s: %s done after %.0f s", name, s.what, time.Since(begun).Seconds())
	}
	return nil
}

// builder builds one root filesystem in dir.
type builder struct {
	suite, mirror, dir string
	aptConf            []string // the machine's own way to its mirror
	proxy              string
	log                *os.File
}

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// bootstrap makes the base system. It is tried again, from nothing, when the mirror fails midway.
func (bl builder) bootstrap(ctx context.Context) error {
	script := "/usr/share/debootstrap/scripts/" + bl.suite
	if _, err := os.Stat(script); err != nil {
		script = "/usr/share/debootstrap/scripts/sid" // a release newer than this debootstrap
	}
	var err error
	for range 3 {
		os.RemoveAll(bl.dir)
		if err = bl.run(ctx, "debootstrap", "--variant=minbase", "--keyring="+keyring, bl.suite, bl.dir, bl.mirror, script); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("the mirror %s does not answer or has no %s (name another with --mirror): %w", hidePassword(bl.mirror), bl.suite, err)
}

// siteScript prepares what each site of a root filesystem d would have to do.
const siteScript = `mkdir -p $d/run/mysqld
chroot $d mariadb-install-db --no-defaults --user=mysql --datadir=` + dbTemplate + ` --auth-root-authentication-method=normal --skip-test-db --innodb-log-file-size=8M
chroot $d slurmctld -V | sed 's/^[^ ]* //' > $d/` + versionFile + `
rm -rf $d/var/lib/mysql/*
`

// install adds packages, runs a script of bash that knows the root filesystem as d, and removes what nobody needs there.
func (bl builder) install(ctx context.Context, packages []string, then string) error {
	conf := append(append([]string{}, bl.aptConf...), `Acquire::Retries "3";`, `Acquire::Check-Valid-Until "false";`, `APT::Install-Recommends "false";`, `Dpkg::Use-Pty "false";`, "")
	for _, f := range []struct {
		path, text string
		mode       os.FileMode
	}{
		{"usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755}, // no daemon starts by itself
		{"etc/dpkg/dpkg.cfg.d/fsub-bed", "path-exclude=/usr/share/doc/*\npath-exclude=/usr/share/man/*\npath-exclude=/usr/share/locale/*\n", 0o644},
		{"etc/apt/apt.conf.d/99fsub-bed", strings.Join(conf, "\n"), 0o644},
	} {
		if err := os.WriteFile(filepath.Join(bl.dir, f.path), []byte(f.text), f.mode); err != nil {
			return err
		}
	}
	bl.copyFromHost("/etc/resolv.conf")
	bl.copyFromHost("/etc/hosts") // a mirror or proxy may be named there
	if strings.HasPrefix(bl.mirror, "https:") {
		bl.copyFromHost("/etc/ssl/certs/ca-certificates.crt")
	}
	script := `set -e
d=$1; shift
mount -t proc proc $d/proc
echo "127.0.0.1 localhost" >> $d/etc/hosts # the machine may have no hosts file
try() { "$@" || { sleep 3; "$@"; } || { sleep 10; "$@"; }; }
try chroot $d apt-get -q update
try chroot $d apt-get -q -y install "$@"
` + then + `rm -rf $d/var/lib/apt/lists/* $d/var/cache/apt/* $d/etc/apt/apt.conf.d/99fsub-bed
: > $d/etc/resolv.conf; echo "127.0.0.1 localhost" > $d/etc/hosts; umount $d/proc`
	return bl.run(ctx, append([]string{"bash", "-c", script, "install", bl.dir}, packages...)...)
}

// copyFromHost copies a file if the host has it.
func (bl builder) copyFromHost(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	target := filepath.Join(bl.dir, path)
	os.MkdirAll(filepath.Dir(target), 0o755)
	os.Remove(target) // may be a link
	os.WriteFile(target, data, 0o644)
}

// pack writes the packed file and its checksum. Neither appears under its name before it is whole.
func (bl builder) pack(ctx context.Context, packed string) error {
	tmp := packed + ".new"
	defer os.Remove(tmp)
	if err := bl.run(ctx, "tar", "--numeric-owner", "--one-file-system", "-I", "zstd -T0 -3", "-C", bl.dir, "-cf", tmp, "."); err != nil {
		return err
	}
	sum, err := sumFile(tmp)
	if err != nil {
		return err
	}
	if err := writeFile(packed+".sha256", []byte(sum+"\n"), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, packed)
}

// run runs a program in mount and pid namespaces of its own, so that an interrupted build leaves no mount and no process behind.
func (bl builder) run(ctx context.Context, args ...string) error {
	offset, _ := bl.log.Seek(0, io.SeekEnd)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = bl.log, bl.log
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	if bl.proxy != "" {
		cmd.Env = append(cmd.Env, "http_proxy="+bl.proxy)
	}
	err := onThread(func() error {
		if err := unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
		return cmd.Run() // to its end: the thread must outlive the process, or Pdeathsig strikes
	})
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", args[0], context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s (log: %s)", args[0], err, bl.lastWords(offset), bl.log.Name())
	}
	return nil
}

// lastWords returns the error lines that a program wrote to the log, or its last lines.
func (bl builder) lastWords(offset int64) string {
	f, err := os.Open(bl.log.Name())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	f.Seek(offset, io.SeekStart)
	data, _ := io.ReadAll(f)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var errs []string
	for _, l := range lines {
		if strings.HasPrefix(l, "E: ") || strings.Contains(l, "No space left") {
			errs = append(errs, l)
		}
	}
	if len(errs) == 0 {
		return strings.Join(lines[max(0, len(lines)-5):], "; ")
	}
	return strings.Join(errs[max(0, len(errs)-3):], "; ")
}

// hidePassword makes a mirror's address fit to print.
func hidePassword(uri string) string {
	if i := strings.LastIndexByte(uri, '@'); i >= 0 {
		if scheme, _, ok := strings.Cut(uri, "://"); ok {
			return scheme + "://***" + uri[i:]
		}
	}
	return uri
}
