package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/cmd/fed/internal/config"
	"fsub/cmd/fed/internal/logging"
	"fsub/federation/api/identity"
)

// What is below /debug/ is for administrators on the socket: not for other users there, nor for anybody over TCP.
func TestWhoMayDebug(t *testing.T) {
	log, err := logging.New(io.Discard, logging.Text)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "debug")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	h := debugging(&config.Config{Federation: "test"}, log, prometheus.NewRegistry())
	srv := &http.Server{Handler: h, ConnContext: identity.ConnContext}
	go srv.Serve(l)
	defer srv.Close()
	overTCP := httptest.NewUnstartedServer(h)
	overTCP.Config.ConnContext = identity.ConnContext
	overTCP.Start()
	defer overTCP.Close()
	onSocket := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	for _, c := range []struct {
		client *http.Client
		url    string
		want   int
	}{{onSocket, "http://fed/debug/log", 200}, {onSocket, "http://fed/debug/pprof/goroutine?debug=1", 200}, {onSocket, "http://fed/debug/metrics", 200}, {onSocket, "http://fed/debug/none", 404}, {overTCP.Client(), overTCP.URL + "/debug/log", 404}} {
		resp, err := c.client.Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.url, resp.StatusCode, c.want)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root: it cannot ask as another user")
	}
	out, err := exec.Command("setpriv", "--reuid", "65534", "--clear-groups", "curl", "-s", "-w", "%{http_code}", "--unix-socket", socket, "http://fed/debug/log").CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "403") || !strings.Contains(string(out), "only root") {
		t.Errorf("another user: %s, %v", out, err)
	}
}
