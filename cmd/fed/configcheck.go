package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fsub/federation/secret"
)

// What can be wrong with a configuration on this machine, beyond what it says: files of secrets, programs and directories that it names, as the user who serves.

// checkHere says what would keep the daemon from serving here.
func (c *Config) checkHere() error {
	all := []error{c.checkSecrets()}
	if len(c.Health.Notify) > 0 {
		if err := startable(c.Health.Notify[0]); err != nil {
			all = append(all, fmt.Errorf("health: notify: %w", err))
		}
	}
	if err := writable(c.StateDir); err != nil {
		all = append(all, fmt.Errorf("state_dir: %w", err))
	}
	return errors.Join(all...)
}

// doubts are what may be meant, and hardly is.
func (c *Config) doubts() (out []string) {
	for _, o := range c.Operators {
		if group, is := strings.CutPrefix(o, "%"); is {
			if _, err := user.LookupGroup(group); err != nil {
				out = append(out, fmt.Sprintf("operators: there is no group %q", group))
			}
			continue
		}
		if _, err := strconv.ParseUint(o, 10, 32); err == nil {
			continue
		}
		if _, err := user.Lookup(o); err != nil {
			out = append(out, fmt.Sprintf("operators: there is no user %q", o))
		}
	}
	if len(c.Sites) == 0 {
		out = append(out, "sites: there are none, so every job is refused; add one here, or by: fed site add FILE")
	}
	return out
}

// named is a file with a secret that the configuration names.
type named struct{ key, path string }

// secrets are the files with secrets that the configuration names, beside those of sites.
func (c *Config) secrets() []named {
	return present([]named{{"reports: mail: password_file", c.Reports.Mail.PasswordFile}, {"remote: key_file", c.Remote.Key}, {"price_lists: google_key_file", c.PriceLists.GoogleKeyFile}})
}

// secrets are those of a site.
func (s *SiteConfig) secrets() []named {
	all := []named{{"key_file", s.KeyFile}, {"token_file", s.TokenFile}, {"client_key", s.ClientKey}}
	if k := s.kind(); k != nil {
		if own := k.section(s); own != nil {
			for _, p := range own.paths() {
				all = append(all, named{"credentials_file", *p})
			}
		}
	}
	return present(all)
}

func present(all []named) []named {
	return slices.DeleteFunc(all, func(n named) bool { return n.path == "" })
}

// checkSecrets checks all files with secrets that the configuration names.
func (c *Config) checkSecrets() error {
	all := []error{checkFiles(c.secrets())}
	for i := range c.Sites {
		if err := c.Sites[i].checkSecrets(); err != nil {
			all = append(all, fmt.Errorf("site %s: %w", c.Sites[i].Name, err))
		}
	}
	return errors.Join(all...)
}

// checkSecrets checks those of a site.
func (s *SiteConfig) checkSecrets() error { return checkFiles(s.secrets()) }

func checkFiles(files []named) error {
	var all []error
	for _, f := range files {
		if err := secret.Check(f.path); err != nil {
			all = append(all, fmt.Errorf("%s: %w", f.key, err))
		}
	}
	return errors.Join(all...)
}

// namedSecrets are the paths of all of them.
func (c *Config) namedSecrets() (paths []string) {
	all := c.secrets()
	for i := range c.Sites {
		all = append(all, c.Sites[i].secrets()...)
	}
	for _, f := range all {
		paths = append(paths, f.path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// startable says why a program cannot be started.
func startable(path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return err
	case !info.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil:
		return fmt.Errorf("%s is not a program that this user may start", path)
	}
	return nil
}

// writable says why a directory cannot be written, or made.
func writable(dir string) error {
	at := dir
	for {
		if _, err := os.Stat(at); err == nil || !os.IsNotExist(err) || at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	try, err := os.MkdirTemp(at, ".fed-check-")
	if err == nil {
		return os.Remove(try)
	}
	var e *os.PathError
	if errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("cannot write to %s: %w", at, err)
}

// server is the user who serves a configuration, as far as that can be told: the owner of its state directory. "": nobody but the caller.
func (c *Config) server() string {
	info, err := os.Stat(c.StateDir)
	if err != nil || os.Geteuid() != 0 {
		return ""
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 {
		return strconv.FormatUint(uint64(s.Uid), 10)
	}
	return ""
}

// again runs this command as another user, by name or uid.
func again(name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return fmt.Errorf("there is no user %q", name)
		}
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	names, err3 := u.GroupIds()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	var groups []uint32
	for _, g := range names {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil {
			groups = append(groups, uint32(n))
		}
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: groups}}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitError(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("check as %s: %w", u.Username, err)
	}
	return nil
}
