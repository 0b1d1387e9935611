package daemon

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"fsub/cloud/agentserver"
	"fsub/cmd/fed/internal/cli"
	"fsub/cmd/fed/internal/config"
	"fsub/federation/api/identity"
	"fsub/federation/secret"
)

// remoteListener is an open Remote.
type remoteListener struct {
	listener    net.Listener
	tokens      *identity.Tokens
	address     string // HOST:PORT
	fingerprint string // SHA-256 of the certificate
}

// at returns the value of FSUB_SOCKET for a listener that is reached at HOST:PORT.
func (d *remoteListener) at(address string) string { return "tls://" + address + "#" + d.fingerprint }

// openRemote opens the listener; nil if none is configured. Its key and certificate are kept in the
// state directory, so that jobs of an earlier daemon still find them.
func openRemote(c *config.Config) (*remoteListener, error) {
	if c.Remote.Listen == "" {
		return nil, nil
	}
	tokens, err := openTokens(c)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	certFile, keyFile, load := c.Remote.Cert, c.Remote.Key, tls.LoadX509KeyPair
	if certFile == "" {
		certFile, keyFile, load = filepath.Join(c.StateDir, "remote.crt"), filepath.Join(c.StateDir, "remote.key"), agentserver.Certificate
	}
	cert, err := load(certFile, keyFile)
	if err == nil {
		err = secret.Check(keyFile)
	}
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	l, err := net.Listen("tcp", c.Remote.Listen)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	address := c.Remote.Address
	if address == "" {
		address = l.Addr().String()
	}
	sum := sha256.Sum256(cert.Certificate[0])
	return &remoteListener{
		listener: tls.NewListener(identity.PerSource(l, fromOneAddress), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}),
		tokens:   tokens, address: address, fingerprint: hex.EncodeToString(sum[:]),
	}, nil
}

// Connections that one address may have to a TCP listener at a time. Behind one may be all nodes of a site; agents keep theirs open.
const (
	fromOneAddress = 1024
	agentsAtOne    = 16 << 10
)

// callers authenticates callers of the remote listener; nobody if there is none.
func (d *remoteListener) callers() *identity.Tokens {
	if d == nil {
		return nil
	}
	return d.tokens
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
