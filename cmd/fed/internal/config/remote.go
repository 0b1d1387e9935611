package config

import (
	"errors"
	"fmt"
	"net"
)

// Remote is the listener for callers on other machines, such as the commands inside jobs: TLS, with
// a token of their user.
type Remote struct {
	// HOST:PORT to listen on. Not set: closed.
	Listen string `yaml:"listen,omitempty"`
	// HOST:PORT as compute nodes reach it. Not set: that of listen.
	Address string `yaml:"address,omitempty"`
	// PEM file with a certificate. Not set: the daemon makes one, which callers know by its fingerprint.
	Cert string `yaml:"cert_file,omitempty"`
	// PEM file with its key.
	Key string `yaml:"key_file,omitempty"`
}

func (r *Remote) check() error {
	if r.Listen == "" {
		if *r != (Remote{}) {
			return errors.New("remote: listen is missing: HOST:PORT")
		}
		return nil
	}
	for name, addr := range map[string]string{"listen": r.Listen, "address": r.Address} {
		if _, _, err := net.SplitHostPort(addr); addr != "" && err != nil {
			return fmt.Errorf("remote: invalid %s %q: want HOST:PORT", name, addr)
		}
	}
	if (r.Cert == "") != (r.Key == "") {
		return errors.New("remote: cert_file and key_file go together")
	}
	return nil
}
