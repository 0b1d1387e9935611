//go:build remote

package conn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
	c.SetTimeout(50 * time.Millisecond)
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
