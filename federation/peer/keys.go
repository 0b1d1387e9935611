// Package peer carries requests between daemons that share a database. One that stands by passes on what it is asked to the daemon that leads, in its
// caller's name ([Forwarder]); the one that leads takes that from none but a daemon that has the same secret ([Keys.Listen]).
package peer

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

// Keys are what daemons with one secret know each other by: a key that follows from the secret, on both sides of each connection. So there are no
// certificates to hand out, and none that expires.
type Keys struct {
	cert   tls.Certificate
	public ed25519.PublicKey
}

// Times that a connection may take to be made.
const (
	dialTime      = 2 * time.Second
	handshakeTime = 5 * time.Second
)

// MinSecret is how many bytes a secret has at least.
const MinSecret = 32

var errStranger = errors.New("the other side has not the secret of these daemons (daemons: secret_file)")

// NewKeys derives the keys of a secret.
func NewKeys(secret []byte) (*Keys, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the secret has %d bytes, want %d or more", len(secret), MinSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "fsub: the key of the daemons", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fsub daemon"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), // nobody looks at them
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, public, key)
	if err != nil {
		return nil, err
	}
	return &Keys{cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, public: public}, nil
}

// config is both sides' configuration of TLS.
func (k *Keys) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{k.cert}, ClientAuth: tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // names and dates of the certificate mean nothing; VerifyConnection looks at its key
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !k.public.Equal(s.PeerCertificates[0].PublicKey) {
				return errStranger
			}
			return nil
		},
	}
}

// dial makes a connection to the daemon that leads. An error says that nothing was sent.
func (k *Keys) dial(ctx context.Context, network, address string) (net.Conn, error) {
	return k.dialFor(ctx, network, address)
}

// dialFor makes a connection for protocols; without any it is for a daemon that leads.
func (k *Keys) dialFor(ctx context.Context, network, address string, protocols ...string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	config := k.config()
	config.NextProtos = protocols
	tc := tls.Client(c, config)
	if err := tc.HandshakeContext(ctx); err != nil {
		c.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Addr: c.RemoteAddr(), Err: err}
	}
	return tc, nil
}

// Listen has l take connections of daemons with the same secret only. Their requests say who calls: see [Conn].
func (k *Keys) Listen(l net.Listener) net.Listener { return &listener{tls.NewListener(l, k.config())} }

type listener struct{ net.Listener }

// Accept implements net.Listener. The handshake follows with the first byte that is read, so that nobody holds up others.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return Conn{c}, nil
}

// Conn is a connection of another daemon.
type Conn struct{ net.Conn }

// NamesCaller says that the requests on this connection name their callers: see [HeaderCaller].
func (Conn) NamesCaller() {}
