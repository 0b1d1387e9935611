package api_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/answer"
	"fsub/federation/api/identity"
	"fsub/testbed/apitest"
)

// Over TLS the token decides, and makes nobody an operator; on the unix socket it decides nothing.
func TestCallOverTLS(t *testing.T) {
	tokens := identity.NewTokens([]byte("key"))
	d := apitest.Start(t, api.Config{Tokens: tokens, Registerer: prometheus.NewRegistry()})
	cert := httptest.NewTLSServer(nil)
	defer cert.Close()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go d.Server.Serve(t.Context(), tls.NewListener(raw, cert.TLS))
	client := cert.Client()
	call := func(method, path, body string, header ...string) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, "https://"+raw.Addr().String()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	token := tokens.Make("root", time.Now().Add(time.Hour))
	for name, c := range map[string]struct {
		header []string
		status int
		says   string
	}{
		"a token":       {[]string{"X-SLURM-USER-TOKEN", token}, 200, `"root"`},
		"as a bearer":   {[]string{"Authorization", "Bearer " + token}, 200, `"root"`},
		"with its name": {[]string{"X-SLURM-USER-TOKEN", token, "X-SLURM-USER-NAME", "root"}, 200, `"root"`},
		"another name":  {[]string{"X-SLURM-USER-TOKEN", token, "X-SLURM-USER-NAME", "alice"}, 401, "root's"},
		"nothing":       {nil, 401, "FSUB_TOKEN"},
		"a wrong token": {[]string{"X-SLURM-USER-TOKEN", token + "x"}, 401, "not made"},
		"unknown here":  {[]string{"X-SLURM-USER-TOKEN", tokens.Make("no-such-user", time.Now().Add(time.Hour))}, 401, "no-such-user"},
	} {
		path := "/slurm/v0.0.42/ping/"
		if c.status != 200 { // which says no more than slurmrestd does
			path = "/fed/v1/sites"
		}
		if status, body := call("GET", path, "", c.header...); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	for _, header := range [][]string{nil, {"X-SLURM-USER-TOKEN", token}} {
		if status, body := call("GET", "/metrics", "", header...); status != http.StatusNotFound {
			t.Errorf("metrics over TLS: %d %.100s", status, body)
		}
	}
	// A call from within somebody else's job has no site looked at.
	d.Controller.SetSites(&federation.Site{Name: "alpha", Answering: true})
	other := d.Put(t, federation.Job{User: "x", UID: 12345, State: federation.Pending, Site: "alpha", Submit: time.Now()})[0]
	if status, body := call("GET", "/fed/v1/job/"+other.String(), "", "X-SLURM-USER-TOKEN", token, answer.HeaderJob, other.String()); status != 200 || !strings.Contains(body, "PENDING") {
		t.Errorf("from within another's job: %d %s", status, body)
	}
	if status, body := call("POST", "/fed/v1/site/alpha/state", `{"state":"DRAIN"}`, "X-SLURM-USER-TOKEN", token); status < 400 {
		t.Errorf("root's token drains a site: %d %s", status, body)
	}
}
