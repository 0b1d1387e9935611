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
	"strings"
	"syscall"
	"time"
)

// dial connects to HOST:PORT#FINGERPRINT. The daemon proves itself by the certificate with that
// SHA-256, in hexadecimal: nothing else, so that it needs no authority and no name; without a
// fingerprint by one that this machine trusts for HOST. It takes at most within; timeout bounds each
// send and each wait after that.
func dial(address string, within, timeout time.Duration) (io.ReadWriteCloser, error) {
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
			return errors.New("it shows another certificate than the one in FSUB_SOCKET")
		}
	}
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: within}, "tcp", host, config)
	if err != nil {
		return nil, err
	}
	return &timed{c, timeout}, nil
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

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// answered reports whether the daemon may have answered although it did not take all that was sent.
func answered(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
