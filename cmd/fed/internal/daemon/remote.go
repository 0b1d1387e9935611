package daemon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fsub/cloud/agentserver"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/systemd"
	"fsub/federation/api/identity"
	"fsub/federation/leader"
	"fsub/federation/peer"
	"fsub/federation/secret"
)

// remote is the way to the daemon for callers on other machines, such as commands inside jobs.
type remote struct {
	listener    net.Listener // nil: it is open for as long as the process lives, whichever daemon leads
	tokens      *identity.Tokens
	address     string // HOST:PORT
	others      *addresses
	fingerprint string    // SHA-256 of the certificate
	since       time.Time // when this daemon took over from another; zero: it is alone
}

// at returns the value of FSUB_SOCKET for daemons that are reached at HOST:PORT, and have one certificate.
func (d *remote) at(addresses ...string) string {
	var all []string
	for _, a := range addresses {
		all = append(all, "tls://"+a+"#"+d.fingerprint)
	}
	return strings.Join(all, ",")
}

// everywhere is that of all daemons.
func (d *remote) everywhere() string {
	return d.at(append([]string{d.address}, d.others.remote()...)...)
}

// openRemote reads what the way to the daemon needs, and opens the listener of one that is alone; nil if none is configured.
func openRemote(c *config.Config, others *addresses, m *systemd.Manager) (*remote, error) {
	if c.Remote.Listen == "" {
		return nil, nil
	}
	tokens, err := openTokens(c)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	cert, err := remoteCertificate(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(cert.Certificate[0])
	d := &remote{tokens: tokens, address: remoteAt(c), others: others, fingerprint: hex.EncodeToString(sum[:])}
	if others != nil {
		d.since = time.Now()
		return d, nil
	}
	if d.listener, err = listenRemote(c, cert, m); err == nil && c.Remote.Address == "" {
		d.address = d.listener.Addr().String()
	}
	return d, err
}

// remoteCertificate is that of the configuration, or the daemon's own, which it makes the first time and keeps in the state directory, so that jobs of an earlier
// daemon still know it.
func remoteCertificate(c *config.Config) (tls.Certificate, error) {
	certFile, keyFile, load := c.Remote.Cert, c.Remote.Key, tls.LoadX509KeyPair
	if certFile == "" {
		certFile, keyFile, load = filepath.Join(c.StateDir, "remote.crt"), filepath.Join(c.StateDir, "remote.key"), agentserver.Certificate
	}
	cert, err := load(certFile, keyFile)
	if err == nil {
		err = secret.Check(keyFile)
	}
	if err != nil {
		return cert, fmt.Errorf("remote: %w", err)
	}
	return cert, nil
}

func listenRemote(c *config.Config, cert tls.Certificate, m *systemd.Manager) (net.Listener, error) {
	l := m.Take("tcp", c.Remote.Listen)
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", c.Remote.Listen); err != nil {
			return nil, fmt.Errorf("remote: %w", err)
		}
	}
	return tls.NewListener(identity.PerSource(l, fromOneAddress), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}), nil
}

// serveRemote answers callers on other machines whether this daemon leads or not, as soon as the daemons have a certificate: the first of them that leads makes it.
func (s *shared) serveRemote(ctx context.Context) error {
	if s.config.Remote.Listen == "" {
		return nil
	}
	if err := s.awaitCertificate(ctx); err != nil {
		return err
	}
	cert, err := remoteCertificate(s.config)
	if err != nil {
		return err
	}
	l, err := listenRemote(s.config, cert, s.systemd)
	if err != nil {
		return err
	}
	s.log.Info("listening for other machines", "address", remoteAt(s.config))
	return peer.Serve(ctx, l, s)
}

func (s *shared) awaitCertificate(ctx context.Context) error {
	files := &sharedFiles{config: s.config, vault: s.vault}
	for told := false; s.config.Remote.Cert == ""; {
		err := files.fetch(ctx)
		if _, made := files.kept["remote.crt"]; made && err == nil {
			return nil
		}
		if err != nil && !told && ctx.Err() == nil {
			s.log.Warn("this daemon does not answer at the address of remote yet", "err", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leader.Renew):
		}
	}
	return nil
}

// Connections that one address may have to a TCP listener at a time. Behind one may be all nodes of a site; agents keep theirs open.
const (
	fromOneAddress = 1024
	agentsAtOne    = 16 << 10
)

// callers authenticates callers of the remote listener; nobody if there is none.
func (d *remote) callers() *identity.Tokens {
	if d == nil {
		return nil
	}
	return d.tokens
}

// reached tells where callers reach all daemons; nil if they do not listen for other machines.
func (d *remote) reached() func() string {
	if d == nil {
		return nil
	}
	return d.everywhere
}

// munge identifies callers on machines with the munge key of a site; nil: there are none.
func (d *remote) munge(c *config.Config) *identity.Munge {
	if d == nil || len(c.Munge) == 0 {
		return nil
	}
	m := &identity.Munge{Sites: map[string]identity.MungeSite{}, Fingerprint: d.fingerprint, Since: d.since}
	for _, s := range c.Sites {
		if socket := c.Munge[s.Name]; socket != "" {
			m.Sites[string(s.Name)] = identity.MungeSite{Socket: socket, Users: usersOf(&s)}
		}
	}
	return m
}

// siteTokens identify callers by tokens of sites; nil: there are none.
func (d *remote) siteTokens(c *config.Config, log *slog.Logger) *identity.SiteTokens {
	if d == nil || len(c.SiteTokens) == 0 {
		return nil
	}
	t := &identity.SiteTokens{Sites: map[string]*identity.TokenSite{}, Private: secret.Check}
	for _, s := range c.Sites {
		if file := c.SiteTokens[s.Name]; file != "" {
			one := &identity.TokenSite{File: file, Users: usersOf(&s)}
			if err := one.Check(secret.Check); err != nil {
				log.Warn("tokens of a site are refused", "site", s.Name, "err", err)
			}
			t.Sites[string(s.Name)] = one
		}
	}
	return t
}

// usersOf are the users who are known otherwise at a site.
func usersOf(s *config.Site) identity.SiteUsers {
	users := identity.SiteUsers{}
	for name, u := range s.Users {
		users[name] = identity.SiteUser{Name: u.Name, UID: u.UID}
	}
	return users
}

// secretFile reads a secret, which it makes the first time.
func secretFile(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		secret = make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		return secret, cli.WritePrivate(path, secret)
	}
	if err == nil && len(secret) < 32 {
		err = fmt.Errorf("%s has %d bytes, want 32 or more; remove it to have a new one made", path, len(secret))
	}
	return secret, err
}
