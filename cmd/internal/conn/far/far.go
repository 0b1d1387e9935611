// Package far reaches daemons of other machines: over TLS, with a certificate that is known ([Dial]), and with munge's word for who calls ([Credential]). The small commands
// have it where they are built for machines without the socket, fed always.
package far

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"fsub/federation/api/identity/munge"
)

// Dial connects to HOST:PORT#FINGERPRINT. The daemon proves itself by the certificate with that
// SHA-256, in hexadecimal: nothing else, so that it needs no authority and no name; without a
// fingerprint by one for HOST that an authority of the file ca has signed, or one that this machine
// trusts. An error says what is wrong with the server.
func Dial(ctx context.Context, address, ca string) (*tls.Conn, error) {
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
	d := tls.Dialer{Config: config}
	c, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, explained(err, ca)
	}
	return c.(*tls.Conn), nil
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
	case timedOut(err):
		return errors.New("it does not answer")
	}
	return err
}

func timedOut(err error) bool {
	var e net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Timeout()
}

// Fingerprint is that of the certificate that a daemon has shown.
func Fingerprint(c *tls.Conn) string {
	sum := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:])
}

// Credential has the munged at socket ("": its usual place), which has the key of a site, make the header that says who calls: for one request to the daemon of that fingerprint.
func Credential(site, socket, fingerprint string, timeout time.Duration) (name, value string, err error) {
	if socket == "" {
		socket = munge.Socket
	}
	cred, err := munge.Encode(socket, munge.PayloadFor(site, fingerprint), timeout)
	return munge.Header, site + " " + cred, err
}
