//go:build remote

package conn

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud/agentserver"
)

// BenchmarkTLS is what a call costs over TLS on this machine's own network, where a round trip takes next to nothing: on a connection of its own, as each command makes
// one, with a session that is resumed, which no command does, and on a connection that is kept. The certificate is of the kind that a daemon makes.
func BenchmarkTLS(b *testing.B) {
	dir := b.TempDir()
	cert, err := agentserver.Certificate(filepath.Join(dir, "crt"), filepath.Join(dir, "key"))
	if err != nil {
		b.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") }))
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.StartTLS()
	defer srv.Close()
	sum := sha256.Sum256(cert.Certificate[0])
	host := strings.TrimPrefix(srv.URL, "https://")
	ca := filepath.Join(dir, "ca")
	os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o644)
	call := func(b *testing.B, c *Conn) {
		if status, _, err := c.Do("GET", "/", nil); status != 200 || err != nil {
			b.Fatalf("%d, %v", status, err)
		}
	}
	pinned := Client{Servers: []string{host + "#" + hex.EncodeToString(sum[:])}, Token: "t"}
	measure(b, "new", func() {
		c := At(pinned)
		defer c.Close()
		call(b, c)
	})
	kept := At(pinned)
	defer kept.Close()
	measure(b, "kept", func() { call(b, kept) })
	cache := tls.NewLRUClientSessionCache(1)
	measure(b, "resumed", func() {
		c, err := tls.Dial("tcp", host, &tls.Config{InsecureSkipVerify: true, ClientSessionCache: cache})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		c.Read(make([]byte, 4096))
	})
}

// measure runs f again and again, and reports the median.
func measure(b *testing.B, name string, f func()) {
	b.Run(name, func(b *testing.B) {
		var all []time.Duration
		for b.Loop() {
			began := time.Now()
			f()
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	})
}
