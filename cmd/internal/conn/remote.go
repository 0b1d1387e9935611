//go:build remote

package conn

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"fsub/federation/api/identity/munge"
)

// findServers has c connect to what the environment and the files of this machine name, if anything.
func (c *Conn) findServers(env []string) {
	at, err := find(env)
	if err != nil {
		c.fault = err
	} else if len(at.Servers) > 0 {
		c.use(at)
	}
}

// dial connects to HOST:PORT#FINGERPRINT. The daemon proves itself by the certificate with that
// SHA-256, in hexadecimal: nothing else, so that it needs no authority and no name; without a
// fingerprint by one for HOST that an authority of the file ca has signed, or one that this machine
// trusts. It takes at most within; timeout bounds each send and each wait after that.
func dial(address, ca string, within, timeout time.Duration) (io.ReadWriteCloser, error) {
	host, print, pinned := strings.Cut(address, "#")
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if pinned {
		config.InsecureSkipVerify = true // the fingerprint is checked below instead
		config.VerifyPeerCertificate = func(certs [][]byte, _ [][]*x509.Certificate) error {
			if len(certs) > 0 {
				if sum := sha256.Sum256(certs[0]); hex.EncodeToString(sum[:]) == strings.ToLower(print) {
					return nil
				}
			}
			return errors.New("it shows another certificate than the one whose fingerprint its address has")
		}
	} else if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, errors.New("there is no certificate in " + ca)
		}
	}
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: within}, "tcp", host, config)
	if err != nil {
		return nil, explained(err, ca)
	}
	return &timed{c, timeout}, nil
}

// explained says what is wrong with a server, and what to do, of the failures that have a cause of their own.
func explained(err error, ca string) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	switch {
	case errors.As(err, &authority) && ca != "":
		return errors.New("its certificate is not signed by an authority of " + ca)
	case errors.As(err, &authority):
		return errors.New("its certificate is signed by no authority that this machine trusts: set ca_file, or add its fingerprint: HOST:PORT#FINGERPRINT")
	case errors.As(err, &name) && len(name.Certificate.DNSNames) > 0:
		return errors.New("its certificate is for " + strings.Join(name.Certificate.DNSNames, ", ") + " and not for " + name.Host)
	case errors.As(err, &name):
		return errors.New("its certificate is not for " + name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate is good from " + invalid.Cert.NotBefore.UTC().Format(time.DateTime) + " to " + invalid.Cert.NotAfter.UTC().Format(time.DateTime) +
			" UTC, and not now: renew it, or set the clock of this machine")
	case errors.As(err, &record):
		return errors.New("it does not speak TLS: is this the port of remote: listen?")
	case errors.As(err, &dns):
		return errors.New("no host of the name " + dns.Name + " is known")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing listens there")
	case isTimeout(err):
		return errors.New("it does not answer")
	}
	return err
}

// credential has munged make a credential for one request to the daemon that has shown its certificate.
func (c *Conn) credential() (string, error) {
	socket := c.munged
	if socket == "" {
		socket = munge.Socket
	}
	cert := c.tls.(*timed).Conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
	sum := sha256.Sum256(cert.Raw)
	cred, err := munge.Encode(socket, munge.PayloadFor(c.site, hex.EncodeToString(sum[:])), c.timeout)
	return munge.Header + ": " + c.site + " " + cred + "\r\n", err
}

// timed bounds each send and each wait.
type timed struct {
	net.Conn
	timeout time.Duration
}

func (t *timed) Read(p []byte) (int, error) {
	if err := t.SetReadDeadline(time.Now().Add(t.timeout)); err != nil {
		return 0, err
	}
	return t.Conn.Read(p)
}

func (t *timed) Write(p []byte) (int, error) {
	if err := t.SetWriteDeadline(time.Now().Add(t.timeout)); err != nil {
		return 0, err
	}
	return t.Conn.Write(p)
}

// untimed is the connection without its time-outs. A daemon that is gone without a word is noticed in about five seconds.
func untimed(c io.ReadWriteCloser) io.ReadWriteCloser {
	t, ok := c.(*timed)
	if !ok {
		return c
	}
	_ = t.SetDeadline(time.Time{})
	if s, ok := t.Conn.(*tls.Conn); ok {
		if tcp, ok := s.NetConn().(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}) // it works without
		}
	}
	return t.Conn
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// answered reports whether the daemon may have answered although it did not take all that was sent.
func answered(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
