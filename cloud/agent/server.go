package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"fsub/cloud/agentapi"
	"fsub/federation/tunnel"
)

// helloTime bounds one attempt to register, callTime any other request that does not wait.
const (
	helloTime = 20 * time.Second
	callTime  = 20 * time.Second
)

// server is the daemon's server for agents.
type server struct {
	http    *http.Client
	servers *servers                                // nil: there is a unix socket
	dial    func(context.Context) (net.Conn, error) // a connection for a stream
	base    string
	session string
	epoch   atomic.Int64 // the newest under which a daemon has answered
}

// follow takes it that a daemon leads under an epoch, unless another one does under a newer one. 0 is a daemon that is alone.
func (d *server) follow(epoch int64) error {
	if seen := d.epoch.Load(); epoch != 0 && epoch < seen {
		d.http.CloseIdleConnections()
		return fmt.Errorf("refused: the daemon that gives them leads no longer (epoch %d): another one does (epoch %d)", epoch, seen)
	}
	if epoch != 0 {
		d.epoch.Store(epoch)
	}
	return nil
}

// refused is an answer that is not 200.
type refused struct {
	code int
	text string
}

func (r *refused) Error() string { return fmt.Sprintf("%d: %s", r.code, r.text) }

// denied reports whether the daemon has said that it does not know this machine.
func denied(err error) bool {
	var r *refused
	return errors.As(err, &r) && r.code == http.StatusUnauthorized
}

func newServer(b agentapi.Boot) (*server, error) {
	t := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 2 * time.Minute, WriteBufferSize: 64 << 10}
	d := &server{http: &http.Client{Transport: t}}
	if path, ok := strings.CutPrefix(b.URL, "unix:"); ok {
		d.base = "http://server"
		dialer := &net.Dialer{Timeout: dialTime}
		d.dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) }
		return d, nil
	}
	if !strings.HasPrefix(b.URL, "https://") || b.Pin == "" {
		return nil, fmt.Errorf("boot data: invalid address %q of the agent server: want unix:/PATH, or https:// with a pin", b.URL)
	}
	pin, err := base64.StdEncoding.DecodeString(b.Pin)
	if err != nil || len(pin) != sha256.Size {
		return nil, errors.New("boot data: the pin is not the base64 of a SHA-256")
	}
	d.servers, err = newServers(b.Servers(), &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, VerifyPeerCertificate: pinned(pin)})
	if err != nil {
		return nil, fmt.Errorf("boot data: %w", err)
	}
	d.dial = d.servers.dial
	t.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) }
	d.base = strings.TrimSuffix(b.Servers()[0], "/")
	return d, nil
}

// know takes up the addresses of the daemons that there are by now.
func (d *server) know(urls []string) error {
	if d.servers == nil {
		return nil
	}
	return d.servers.know(urls)
}

// pinned accepts a certificate with the key that the boot data names. The server needs neither an
// authority nor a name.
func pinned(pin []byte) func([][]byte, [][]*x509.Certificate) error {
	return func(certs [][]byte, _ [][]*x509.Certificate) error {
		if len(certs) == 0 {
			return errors.New("the agent server shows no certificate")
		}
		c, err := x509.ParseCertificate(certs[0])
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(c.RawSubjectPublicKeyInfo); subtle.ConstantTimeCompare(sum[:], pin) != 1 {
			return errors.New("the agent server shows another key than the one in the boot data")
		}
		return nil
	}
}

// call sends in as JSON and reads the answer into out, if it is not nil. It is tried once.
func (d *server) call(ctx context.Context, limit time.Duration, path, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+time.Duration(len(body)>>20)*time.Second)
	defer cancel()
	return d.send(ctx, path, token, bytes.NewReader(body), int64(len(body)), out)
}

func (d *server) send(ctx context.Context, path, token string, body io.Reader, size int64, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+path, body)
	if err != nil {
		return err
	}
	r.ContentLength = size
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if epoch := d.epoch.Load(); epoch != 0 {
		r.Header.Set(agentapi.HeaderEpoch, strconv.FormatInt(epoch, 10))
	}
	answer, err := d.http.Do(r)
	if err != nil {
		d.http.CloseIdleConnections() // they lead to the same daemon
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return &refused{answer.StatusCode, strings.TrimSpace(string(text))}
	}
	if out != nil {
		err = json.NewDecoder(answer.Body).Decode(out)
	}
	io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // the connection is used again
	return err
}

// stream makes a connection to the daemon that is upgraded.
func (d *server) stream(ctx context.Context, path, token string) (*tunnel.Conn, error) {
	c, err := d.dial(ctx)
	if err != nil {
		return nil, err
	}
	h := http.Header{"Authorization": {"Bearer " + token}}
	if epoch := d.epoch.Load(); epoch != 0 {
		h.Set(agentapi.HeaderEpoch, strconv.FormatInt(epoch, 10))
	}
	return tunnel.Open(ctx, c, path, h)
}

// backoff is the time between tries: from 50 ms to 2 s, none the same.
type backoff struct{ wait time.Duration }

func newBackoff() *backoff { return &backoff{50 * time.Millisecond} }

func (b *backoff) reset() { b.wait = 50 * time.Millisecond }

func (b *backoff) sleep(ctx context.Context) error {
	t := time.NewTimer(b.wait/2 + rand.N(b.wait))
	defer t.Stop()
	b.wait = min(2*b.wait, 2*time.Second)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
