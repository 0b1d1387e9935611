//go:build remote

package conn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Over TLS the daemon is known by its certificate's fingerprint, and the caller by the token.
func TestTLS(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-hang
		}
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Header.Get("X-SLURM-USER-TOKEN")+":"+string(body))
	}))
	defer srv.Close()
	defer close(hang)
	sum := sha256.Sum256(srv.Certificate().Raw)
	host := strings.TrimPrefix(srv.URL, "https://")
	connect := func(address string) *Conn {
		c := FromEnv([]string{"FSUB_SOCKET=" + address, "FSUB_TOKEN=secret"})
		t.Cleanup(c.Close)
		return c
	}
	c := connect("tls://" + host + "#" + hex.EncodeToString(sum[:]))
	for range 2 { // the second on the same connection
		if status, body, err := c.Do("POST", "/", []byte(strings.Repeat("x", 1<<20))); status != 200 || len(body) != 1<<20+7 || err != nil {
			t.Fatalf("%d, %d bytes, %v", status, len(body), err)
		}
	}
	c.SetTimeout(time.Second)
	if _, _, err := c.Do("GET", "/hang", nil); !errors.Is(err, ErrTimeout) {
		t.Errorf("a daemon that does not answer: %v", err)
	}
	for _, bad := range []string{"tls://" + host + "#" + strings.Repeat("0", 64), "tls://" + host, "tls://127.0.0.1:1", "tls://nonsense"} {
		if _, _, err := connect(bad).Do("GET", "/", nil); !errors.Is(err, ErrConnect) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Of several daemons one that is down or frozen is passed over.
func TestTLSOfSeveralDaemons(t *testing.T) {
	frozen, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes its connections
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") }))
	defer srv.Close()
	sum := sha256.Sum256(srv.Certificate().Raw)
	var all []string
	for _, host := range []string{"127.0.0.1:1", frozen.Addr().String(), strings.TrimPrefix(srv.URL, "https://")} {
		all = append(all, "tls://"+host+"#"+hex.EncodeToString(sum[:]))
	}
	c := FromEnv([]string{"FSUB_SOCKET=" + strings.Join(all, ","), "FSUB_TOKEN=secret"})
	defer c.Close()
	began := time.Now()
	if _, body, err := c.Do("GET", "/", nil); string(body) != "here" || err != nil || time.Since(began) > 5*nextDaemon {
		t.Errorf("%q, %v after %v", body, err, time.Since(began))
	}
}

// Each thing that can be wrong with a server has a sentence of its own.
func TestWhatIsWrongWithAServer(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "here") }))
	defer srv.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	frozen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	dir := t.TempDir()
	pemOf := func(name string, cert []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own, host := pemOf("own", srv.Certificate().Raw), strings.TrimPrefix(srv.URL, "https://")
	_, port, _ := net.SplitHostPort(host)
	old := expired(t)
	oldServer := httptest.NewUnstartedServer(http.NotFoundHandler())
	oldServer.TLS = &tls.Config{Certificates: []tls.Certificate{old}}
	oldServer.StartTLS()
	defer oldServer.Close()
	other := pemOf("other", old.Certificate[0])
	os.WriteFile(dir+"/empty", nil, 0o644)
	for name, c := range map[string]struct{ server, ca, says string }{
		"nothing":             {"127.0.0.1:1", "", "no daemon answers at 127.0.0.1:1 (nothing listens there); nothing was submitted"},
		"frozen":              {frozen.Addr().String(), "", "it does not answer"},
		"no such host":        {"no-such-host.invalid", "", "no host of the name no-such-host.invalid is known"},
		"plain HTTP":          {strings.TrimPrefix(plain.URL, "http://"), own, "it does not speak TLS: is this the port of remote: listen?"},
		"nobody's":            {host, "", "signed by no authority that this machine trusts: set ca_file, or add its fingerprint"},
		"another authority's": {host, other, "not signed by an authority of " + other},
		"another fingerprint": {host + "#" + strings.Repeat("0", 64), "", "another certificate than the one whose fingerprint"},
		"another name":        {"localhost:" + port, own, "its certificate is for example.com, *.example.com and not for localhost"},
		"expired":             {strings.TrimPrefix(oldServer.URL, "https://"), other, "and not now: renew it, or set the clock"},
		"no file":             {host, dir + "/none", "no such file"},
		"an empty file":       {host, dir + "/empty", "there is no certificate in " + dir + "/empty"},
		"all is well":         {host, own, ""},
	} {
		conn := At(Client{Servers: []string{c.server}, CAFile: c.ca, Token: "t"})
		conn.SetTimeout(300 * time.Millisecond)
		if c.says == "" {
			conn.SetTimeout(time.Minute)
		}
		_, _, err := conn.Do("GET", "/", nil)
		conn.Close()
		var e *Error
		if c.says == "" && err != nil || c.says != "" && (!errors.As(err, &e) || e.Err != ErrConnect || !strings.Contains(e.Detail, c.says)) {
			if e != nil {
				err = errors.New(e.Detail)
			}
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	var e *Error
	if _, _, err := At(Client{Servers: []string{host}, CAFile: own}).Do("GET", "/", nil); !errors.As(err, &e) || !strings.Contains(e.Detail, "run fsub login here") {
		t.Errorf("no token: %v", err)
	}
}

// expired is a certificate of 127.0.0.1 that was good in 2020.
func expired(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.AddDate(1, 0, 0), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
