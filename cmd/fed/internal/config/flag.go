package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fsub/cloud/clouds"
	"fsub/cmd/internal/conn"
)

// Flag is the --config of a command.
type Flag struct{ Path string }

func (f *Flag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.Path, "config", "c", "", "configuration file (default "+DefaultFile+"; without that file, this machine is the one site)")
}

// Read reads the configuration that the flag names, else the one at its usual place, else the one
// that works without a file.
func (f *Flag) Read() (Config, error) {
	if f.Path != "" {
		return Read(f.Path)
	}
	if _, err := os.Stat(DefaultFile); errors.Is(err, fs.ErrNotExist) {
		return Embedded()
	}
	return Read(DefaultFile)
}

// ReadOwn is read, for what is done to the files of a daemon. A configuration that nobody has named is not taken for that of another daemon, which FSUB_SOCKET names.
func (f *Flag) ReadOwn() (Config, error) {
	c, err := f.Read()
	if s := os.Getenv("FSUB_SOCKET"); err == nil && f.Path == "" && s != "" && s != c.Socket {
		return c, fmt.Errorf("FSUB_SOCKET names the daemon at %s, and %s is of one at %s: name the daemon's configuration with --config",
			s, cmp.Or(f.Found(), "what is used without "+DefaultFile), c.Socket)
	}
	if err == nil && f.Found() == "" {
		if at, err := conn.Find(os.Environ(), c.Socket); err == nil && len(at.Servers) > 0 {
			host, _, _ := strings.Cut(at.Servers[0], "#")
			return c, fmt.Errorf("this works on the daemon's own files, and the daemon is on another machine (%s): run it there", host)
		}
	}
	return c, err
}

// Found is the file that read reads; "": there is none.
func (f *Flag) Found() string {
	if f.Path != "" {
		return f.Path
	}
	if _, err := os.Stat(DefaultFile); err != nil {
		return ""
	}
	return DefaultFile
}

// Embedded is the configuration of a daemon without a file: one pool of this machine. root serves
// everybody from the usual places; anybody else serves themselves from below their home directory,
// where their commands look too.
func Embedded() (Config, error) {
	c := Default()
	c.Sites = []Site{{Name: clouds.Local, Kind: clouds.Local}}
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
