package slurm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// secure has the fake answer over TLS as well, and returns the file with its authority.
func (f *fake) secure(t *testing.T, config *tls.Config) (s *httptest.Server, ca string) {
	t.Helper()
	s = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, pemFile(t, "ca.pem", "CERTIFICATE", s.Certificate().Raw)
}

func pemFile(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Over https the token goes only to whom the authority has signed.
func TestAuthorityOfASite(t *testing.T) {
	f := newFake(t, "v0.0.42")
	f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
	s, ca := f.secure(t, nil)
	if err := f.driver(t, func(c *Config) { c.URL, c.CAFile = s.URL, ca }).Ping(t.Context()); err != nil {
		t.Errorf("with its authority: %v", err)
	}
	calls := f.count("")
	err := f.driver(t, func(c *Config) { c.URL = s.URL }).Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), "certificate") || !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("with the machine's authorities: %v", err)
	}
	if f.count("") != calls {
		t.Error("a request, and the token in it, went to a server that nobody vouches for")
	}
}

// A proxy that asks for a certificate gets the client's; a renewed one counts at once.
func TestCertificateOfTheClient(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := func(name string) []byte {
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t, "v0.0.42")
	f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
	var seen []string
	s, ca := f.secure(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert, VerifyConnection: func(c tls.ConnectionState) error {
		seen = append(seen, c.PeerCertificates[0].Subject.CommonName)
		return nil
	}})
	cert, keyFile := pemFile(t, "cert.pem", "CERTIFICATE", made("first")), pemFile(t, "key.pem", "EC PRIVATE KEY", der)
	d := f.driver(t, func(c *Config) { c.URL, c.CAFile, c.CertFile, c.CertKeyFile = s.URL, ca, cert, keyFile })
	if err := d.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	renewed, err := os.ReadFile(pemFile(t, "cert.pem", "CERTIFICATE", made("second")))
	if err == nil {
		err = os.WriteFile(cert, renewed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.CloseClientConnections()
	if err := d.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first, last := seen[0], seen[len(seen)-1]; first != "first" || last != "second" {
		t.Errorf("the proxy saw %q", seen)
	}
}

func TestClearText(t *testing.T) {
	for url, warned := range map[string]bool{
		"http://alpha:6820": true, "http://10.1.2.3:6820": true, "http://[fd00::1]:6820": true, "http://localhost.example.org": true,
		"http://localhost:6820": false, "http://127.0.0.1:6820": false, "http://[::1]:6820": false, "https://alpha:6820": false, "unix:/run/x": false,
	} {
		if got := ClearText(url); (got != "") != warned {
			t.Errorf("%s: %q", url, got)
		}
	}
}

func TestCertificatesThatCannotBeUsed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"holds no certificate":      {URL: "https://x", CAFile: empty},
		"go together":               {URL: "https://x", CertFile: empty},
		"client_cert: tls: failed":  {URL: "https://x", CertFile: empty, CertKeyFile: empty},
		"are for https; the url is": {URL: "unix:/run/x", CAFile: empty},
	} {
		c.Name, c.KeyFile = "alpha", keyFile(t, "key")
		if _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
