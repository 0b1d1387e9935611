package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	testbed "fsub/testbed/postgres"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	file string // its certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, file: filepath.Join(t.TempDir(), name+".pem")}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.write(a.file, "CERTIFICATE", a.sign(a.cert, &key.PublicKey))
	return a
}

func (a *authority) sign(c *x509.Certificate, key *ecdsa.PublicKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *authority) write(path, kind string, der []byte) {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// server makes a certificate for a host, valid until a time, and its key.
func (a *authority) server(host string, until time.Time) (cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	dir := a.t.TempDir()
	cert, key = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	a.write(cert, "CERTIFICATE", a.sign(&x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until}, &private.PublicKey))
	a.write(key, "PRIVATE KEY", text)
	return cert, key
}

// TestEncrypted: the way to the database is encrypted and its server is known by its certificate; whatever is wrong with that is one sentence.
func TestEncrypted(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	server := testbed.Start(t)
	server.URL()
	use := func(host string, until time.Time) {
		server.Encrypt(ca.server(host, until))
	}
	url := func(host, options string) string {
		return fmt.Sprintf("postgres://%s@%s/fed1?%s", testbed.Role, strings.Replace(server.Listen(), "127.0.0.1", host, 1), options)
	}
	verified := "sslmode=verify-full&sslrootcert="
	_, err := openAt(t, url("127.0.0.1", verified+ca.file))
	says(t, err, "the database's server has no TLS")

	use("localhost", time.Now().Add(time.Hour))
	s := mustOpenAt(t, url("localhost", verified+ca.file))
	if _, err := create(s, "encrypted"); err != nil {
		t.Error(err)
	}
	if n := server.Exec("SELECT COUNT(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name = 'fed'"); n != "t" {
		t.Error("the connection is not encrypted")
	}
	s.Close()

	_, err = openAt(t, url("localhost", verified+other.file))
	says(t, err, "no authority of sslrootcert has signed the certificate of the database's server")
	_, err = openAt(t, url("127.0.0.1", verified+ca.file))
	says(t, err, "the certificate of the database's server is for another name than the URL's")
	_, err = openAt(t, url("localhost", verified+ca.file+".none"))
	says(t, err, "no such file")
	use("localhost", time.Now().Add(-time.Hour))
	_, err = openAt(t, url("localhost", verified+ca.file))
	says(t, err, "the certificate of the database's server is not valid now")
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Count(strings.TrimSpace(err.Error()), "\n") > 0 {
		t.Errorf("it says %v, want in one line: %s", err, want)
	}
	t.Log(err)
}
