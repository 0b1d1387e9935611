package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// Daemons are several daemons that share one PostgreSQL: docs/daemons.md.
type Daemons struct {
	// Name of this daemon, unlike that of any other. Not set: the machine's.
	Name string `yaml:"name,omitempty"`
	// HOST:PORT to listen on for the other daemons. Not set: this daemon is alone with its store.
	Listen string `yaml:"listen,omitempty"`
	// HOST:PORT as the other daemons reach it. Not set: that of listen.
	Address string `yaml:"address,omitempty"`
	// File with 32 or more random bytes that all daemons have, mode 0600: they know each other by it.
	SecretFile string `yaml:"secret_file,omitempty"`
}

// Named is the daemon's name.
func (d *Daemons) Named() string {
	if d.Name != "" {
		return d.Name
	}
	host, _ := os.Hostname()
	return host
}

// At is where other daemons reach this one.
func (d *Daemons) At() string { return cmp.Or(d.Address, d.Listen) }

// check refuses what would be one daemon's alone.
func (d *Daemons) check(c *Config) error {
	switch {
	case *d == (Daemons{}):
		return nil
	case c.Store == "":
		return errors.New("daemons: they share a PostgreSQL: set store")
	case strings.HasPrefix(c.Blobs.URL, "file:"):
		return errors.New("daemons: a file:// store of blobs is one machine's: use s3://, gs:// or azblob://")
	case d.Listen == "":
		return errors.New("daemons: listen is missing: HOST:PORT for the other daemons")
	case d.SecretFile == "":
		return errors.New("daemons: secret_file is missing: a file with 32 or more random bytes that all daemons have (head -c 32 /dev/urandom)")
	}
	for name, addr := range map[string]string{"listen": d.Listen, "address": d.Address} {
		host, _, err := net.SplitHostPort(addr)
		switch {
		case addr == "":
		case err != nil:
			return fmt.Errorf("daemons: invalid %s %q: want HOST:PORT", name, addr)
		case host == "" && d.Address == "":
			return fmt.Errorf("daemons: listen %q names no host: set address to HOST:PORT as the other daemons reach it", addr)
		}
	}
	for i := range c.Sites {
		if s := &c.Sites[i]; s.Rented() {
			return fmt.Errorf("site %s: machines that are rented know one daemon only, so far: with daemons only Slurm sites are taken", s.Name)
		}
	}
	return nil
}

// IsPostgres reports whether a store is named by the URL of a PostgreSQL.
func IsPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}
