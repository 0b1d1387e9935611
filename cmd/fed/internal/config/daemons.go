package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
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
		return d.checkAlone(c)
	case c.Store == "":
		return errors.New("daemons: they share a PostgreSQL: set store")
	case strings.HasPrefix(c.Blobs.URL, "file:") && !c.Blobs.Shared:
		return errors.New("daemons: a file:// store of blobs is one machine's: use s3://, gs:// or azblob://, or set blobs: shared, if all daemons see that directory")
	case d.Listen == "":
		return errors.New("daemons: listen is missing: HOST:PORT for the other daemons")
	case d.SecretFile == "":
		return errors.New("daemons: secret_file is missing: a file with 32 or more random bytes that all daemons have (head -c 32 /dev/urandom)")
	}
	if err := reachable("daemons", d.Listen, d.Address, "the other daemons reach it"); err != nil {
		return err
	}
	if err := reachable("remote", c.Remote.Listen, c.Remote.Address, "compute nodes reach it"); err != nil {
		return err
	}
	return d.checkRented(c)
}

// checkAlone refuses what only one of several daemons can have.
func (d *Daemons) checkAlone(c *Config) error {
	for i := range c.Sites {
		if s := &c.Sites[i]; s.Facts().Host != "" {
			return fmt.Errorf("site %s: host %s: there is one daemon, and the nodes are on its machine: leave it out, or set daemons", s.Name, s.Facts().Host)
		}
	}
	return nil
}

// Hosts reports whether the nodes of a site are on this daemon's machine, of several.
func (c *Config) Hosts(s *Site) bool { return s.Here() && s.Facts().Host == c.Daemons.Named() }

// checkRented refuses what would end with the daemon that leads, of machines that are to outlive it.
func (d *Daemons) checkRented(c *Config) error {
	rents := false
	for i := range c.Sites {
		s := &c.Sites[i]
		switch {
		case !s.Here():
		case s.Facts().Host == "":
			return fmt.Errorf("site %s: nodes of kind %s are on one daemon's machine: set %s: host to that daemon's name", s.Name, s.Kind, s.Kind)
		case c.Agents.Listen == "":
			return fmt.Errorf("site %s: its nodes could not reach a daemon on another machine: set agents: listen, HOST:PORT", s.Name)
		}
		rents = rents || s.Rented()
	}
	switch {
	case !rents:
		return nil
	case c.Agents.Lease < leastLease:
		return fmt.Errorf("agents: lease: %s is less than %s: with daemons, machines must outlast a take-over", c.Agents.Lease, leastLease)
	}
	return reachable("agents", c.Agents.Listen, c.Agents.Address, "rented machines reach it")
}

// leastLease is the shortest lease of machines that several daemons rent: a poll at a daemon that is frozen may take half of it.
const leastLease = time.Minute

// reachable checks addresses of which the others are told.
func reachable(key, listen, address, who string) error {
	for name, addr := range map[string]string{"listen": listen, "address": address} {
		host, port, err := net.SplitHostPort(addr)
		switch {
		case addr == "":
		case err != nil:
			return fmt.Errorf("%s: invalid %s %q: want HOST:PORT", key, name, addr)
		case address == "" && (host == "" || port == "0" || isUnspecified(host)):
			return fmt.Errorf("%s: listen %q names no host: set address to HOST:PORT as %s", key, addr, who)
		}
	}
	return nil
}

func isUnspecified(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsUnspecified()
}

// IsPostgres reports whether a store is named by the URL of a PostgreSQL.
func IsPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}
