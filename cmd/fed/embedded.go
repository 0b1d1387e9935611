package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fsub/cmd/internal/conn"
)

// configFlag is the --config of a command.
type configFlag struct{ path string }

func (f *configFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.path, "config", "c", "", "configuration file (default "+defaultConfig+"; without that file, this machine is the one site)")
}

// read reads the configuration that the flag names, else the one at its usual place, else the one
// that works without a file.
func (f *configFlag) read() (Config, error) {
	if f.path != "" {
		return readConfig(f.path)
	}
	if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
		return embedded()
	}
	return readConfig(defaultConfig)
}

// readOwn is read, for what is done to the files of a daemon. A configuration that nobody has named is not taken for that of another daemon, which FSUB_SOCKET names.
func (f *configFlag) readOwn() (Config, error) {
	c, err := f.read()
	if s := os.Getenv("FSUB_SOCKET"); err == nil && f.path == "" && s != "" && s != c.Socket {
		return c, fmt.Errorf("FSUB_SOCKET names the daemon at %s, and %s is of one at %s: name the daemon's configuration with --config",
			s, cmp.Or(f.found(), "what is used without "+defaultConfig), c.Socket)
	}
	return c, err
}

// found is the file that read reads; "": there is none.
func (f *configFlag) found() string {
	if f.path != "" {
		return f.path
	}
	if _, err := os.Stat(defaultConfig); err != nil {
		return ""
	}
	return defaultConfig
}

// embedded is the configuration of a daemon without a file: one pool of this machine. root serves
// everybody from the usual places; anybody else serves themselves from below their home directory,
// where their commands look too.
func embedded() (Config, error) {
	c := defaults()
	c.Sites = []SiteConfig{{Name: kindLocal, Kind: kindLocal}}
	if os.Geteuid() != 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return c, err
		}
		c.Socket = home + conn.OwnSocket
		c.StateDir = filepath.Join(filepath.Dir(c.Socket), "state")
	}
	return c, c.check()
}
