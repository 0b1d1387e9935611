package config

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fsub/federation/secret"
)

// What can be wrong with a configuration on this machine, beyond what it says: files of secrets, programs and directories that it names, as the user who serves.

// CheckHere says what would keep the daemon from serving here.
func (c *Config) CheckHere() error {
	all := []error{c.CheckSecrets()}
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

// Doubts are what may be meant, and hardly is.
func (c *Config) Doubts() (out []string) {
	for _, o := range c.Operators {
		if group, is := strings.CutPrefix(o, "%"); is {
			if _, err := user.LookupGroup(group); err != nil {
				out = append(out, fmt.Sprintf("operators: unknown group %q", group))
			}
			continue
		}
		if _, err := strconv.ParseUint(o, 10, 32); err == nil {
			continue
		}
		if _, err := user.Lookup(o); err != nil {
			out = append(out, fmt.Sprintf("operators: unknown user %q", o))
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
	return present([]named{{"store_password_file", c.StorePasswordFile}, {"reports: mail: password_file", c.Reports.Mail.PasswordFile}, {"remote: key_file", c.Remote.Key}, {"web: key_file", c.Web.Key}, {"daemons: secret_file", c.Daemons.SecretFile}, {"price_lists: google_key_file", c.PriceLists.GoogleKeyFile}})
}

// secrets are those of a site.
func (s *Site) secrets() []named {
	all := []named{{"key_file", s.KeyFile}, {"token_file", s.TokenFile}, {"client_key", s.ClientKey}}
	if own := s.Settings(); own != nil {
		for _, p := range own.Paths() {
			all = append(all, named{"credentials_file", *p})
		}
	}
	return present(all)
}

func present(all []named) []named {
	return slices.DeleteFunc(all, func(n named) bool { return n.path == "" })
}

// CheckSecrets checks all files with secrets that the configuration names.
func (c *Config) CheckSecrets() error {
	all := []error{checkFiles(c.secrets())}
	for i := range c.Sites {
		if err := c.Sites[i].CheckSecrets(); err != nil {
			all = append(all, fmt.Errorf("site %s: %w", c.Sites[i].Name, err))
		}
	}
	return errors.Join(all...)
}

// CheckSecrets checks those of a site.
func (s *Site) CheckSecrets() error { return checkFiles(s.secrets()) }

func checkFiles(files []named) error {
	var all []error
	for _, f := range files {
		if err := secret.Check(f.path); err != nil {
			all = append(all, fmt.Errorf("%s: %w", f.key, err))
		}
	}
	return errors.Join(all...)
}

// NamedSecrets are the paths of all of them.
func (c *Config) NamedSecrets() (paths []string) {
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
