package bed

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// sitePath is PATH inside a site.
const sitePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Cmd is a command to run inside a site or in the login.
type Cmd struct {
	Site   string   // a site's name, or Login
	User   string   // empty: root
	Dir    string   // working directory; empty: the user's home (root: "/", in the login FedDir)
	Env    []string // NAME=value, added to the environment
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// Start starts c. The returned command is running: call its Wait, or Process.Kill. The process is a direct child of the
// caller also when it runs in a site's pid namespace. Cancelling ctx kills it.
func (b *Bed) Start(ctx context.Context, c Cmd) (*exec.Cmd, error) {
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("run in %s: no command given", c.Site)
	}
	var cmd *exec.Cmd
	err := onThread(func() error {
		cred, err := b.prepare(&c)
		if err != nil {
			return err
		}
		path, err := lookPath(c.Args[0], c.Env, c.Dir)
		if err != nil {
			return err
		}
		cmd = exec.CommandContext(ctx, path, c.Args[1:]...)
		cmd.Args[0] = c.Args[0]
		cmd.Dir, cmd.Env = c.Dir, c.Env
		cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		return cmd.Start()
	})
	if err != nil {
		return nil, fmt.Errorf("run %s in %s: %w", c.Args[0], c.Site, err)
	}
	return cmd, nil
}

// Exec runs a command to its end. A command that fails gives an *exec.ExitError.
func (b *Bed) Exec(ctx context.Context, c Cmd) error {
	cmd, err := b.Start(ctx, c)
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// Output runs a command and returns its standard output. An error carries what the command said.
func (b *Bed) Output(ctx context.Context, site, user string, args ...string) (string, error) {
	var out, errOut strings.Builder
	err := b.Exec(ctx, Cmd{Site: site, User: user, Args: args, Stdout: &out, Stderr: &errOut})
	if err != nil {
		return out.String(), fmt.Errorf("%s at %s: %w: %s", args[0], site, err, strings.TrimSpace(errOut.String()+out.String()))
	}
	return out.String(), nil
}

// Replace turns the calling process into the command, in the login only. It returns only on error.
func (b *Bed) Replace(c Cmd) error {
	err := onThread(func() error {
		cred, err := b.prepare(&c)
		if err != nil {
			return err
		}
		path, err := lookPath(c.Args[0], c.Env, c.Dir)
		if err != nil {
			return err
		}
		if err := unix.Chdir(c.Dir); err != nil {
			return fmt.Errorf("enter directory %s: %w", c.Dir, err)
		}
		if err := become(cred); err != nil {
			return err
		}
		return unix.Exec(path, c.Args, c.Env)
	})
	return fmt.Errorf("run %s in %s: %w", c.Args[0], c.Site, err)
}

// become changes the identity of the current thread only, which suffices before exec.
func become(cred *syscall.Credential) error {
	for _, call := range []struct{ trap, arg uintptr }{
		{unix.SYS_SETGROUPS, 0}, {unix.SYS_SETGID, uintptr(cred.Gid)}, {unix.SYS_SETUID, uintptr(cred.Uid)},
	} {
		if _, _, errno := unix.RawSyscall(call.trap, call.arg, 0, 0); errno != 0 {
			return fmt.Errorf("become user %d: %w", cred.Uid, errno)
		}
	}
	return nil
}

// prepare moves the current thread to where c runs, completes c's directory and environment, and returns the identity to run it with.
func (b *Bed) prepare(c *Cmd) (*syscall.Credential, error) {
	who, err := b.whoAt(c.Site, firstOf(c.User, "root"))
	if err != nil {
		return nil, err
	}
	env := b.siteEnv()
	if c.Site == Login {
		env = b.loginEnv()
	}
	env = append(env, "HOME="+who.home, "USER="+who.Name, "LOGNAME="+who.Name, "SHELL=/bin/bash")
	c.Env = lastWins(append(env, c.Env...))
	c.Dir = firstOf(c.Dir, who.dir)
	cred := &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.UID)}
	if c.Site == Login {
		return cred, b.enterLogin()
	}
	holder, ok := b.holder(c.Site)
	if !ok {
		return nil, errDown(c.Site)
	}
	return cred, enter(holder.PID, siteNamespaces...)
}

// who is a user with the directories that matter to a command.
type who struct {
	User
	home string
	dir  string // where commands start
}

// whoAt returns a user of a site or of the login: one of the bed's, root, or at a site SlurmUser.
func (b *Bed) whoAt(site, name string) (who, error) {
	users, rootDir := Users, b.FedDir()
	if site != Login {
		s, err := findSite(site)
		if err != nil {
			return who{}, err
		}
		users, rootDir = s.Users(), "/"
	}
	switch {
	case name == "root":
		return who{User{Name: "root"}, "/root", rootDir}, nil
	case name == "slurm" && site != Login:
		return who{User{Name: "slurm", UID: slurmUID}, "/nonexistent", "/"}, nil
	}
	for _, u := range users {
		if u.Name == name {
			return who{u, b.Home(name), b.Home(name)}, nil
		}
	}
	return who{}, fmt.Errorf("no user %q in %s: it has %s", name, site, strings.Join(userNames(users), ", "))
}

// siteEnv is the environment inside a site: nothing of the caller's but the kind of terminal.
func (b *Bed) siteEnv() []string {
	return []string{"PATH=" + sitePath, "LANG=C.UTF-8", "TERM=" + firstOf(os.Getenv("TERM"), "dumb"), "SLURM_CONF=/etc/slurm/slurm.conf"}
}

// loginEnv is the caller's environment without what belongs to another user or another cluster, and with the way to the bed's daemon.
func (b *Bed) loginEnv() []string {
	env := []string{"FSUB_SOCKET=" + b.SocketFile()} // what follows has precedence
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "SLURM_"), strings.HasPrefix(name, "XDG_"), name == "HOME", name == "USER", name == "LOGNAME",
			name == "SHELL", name == "MAIL", name == "PWD", name == "OLDPWD":
		case name == "PATH":
			env = append(env, "PATH="+b.BinDir()+":"+kv[len("PATH="):])
		default:
			env = append(env, kv)
		}
	}
	return env
}

// lastWins drops earlier values of a name. A program that got two would choose for itself.
func lastWins(env []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, kv := range slices.Backward(env) {
		if name, _, _ := strings.Cut(kv, "="); !seen[name] {
			seen[name] = true
			kept = append(kept, kv)
		}
	}
	slices.Reverse(kept)
	return kept
}

// enterLogin gives the current thread the host with the bed's users: an /etc with their passwd and group over the host's own. All of /etc is laid over, for
// the kernel takes a mount on a single file away as soon as somebody replaces that file, and useradd, addgroup and package managers replace these.
func (b *Bed) enterLogin() error {
	if _, err := os.Stat(filepath.Join(b.loginDir(), "passwd")); err != nil {
		return fmt.Errorf("the login is not set up in %s: run: bin/bed up", b.opts.Dir)
	}
	if err := unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	within, err := mountsBelow("/etc")
	if err != nil {
		return err
	}
	kept := make([]int, len(within))
	for i, at := range within {
		if kept[i], err = unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("open %s: %w", at, err)
		}
		defer unix.Close(kept[i])
	}
	if err := mount("overlay", "/etc", "overlay", 0, "lowerdir="+b.loginDir()+":/etc"); err != nil {
		return err
	}
	for i, at := range within {
		if err := mount(fmt.Sprintf("/proc/thread-self/fd/%d", kept[i]), at, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// mountsBelow lists what is mounted below a directory, in the order of mounting, as containers have resolv.conf: a layer over the directory does not show it.
func mountsBelow(dir string) ([]string, error) {
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	var below []string
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 4 && strings.HasPrefix(f[4], dir+"/") { // proc(5): the fifth field is the mount point
			below = append(below, f[4])
		}
	}
	return below, nil
}
