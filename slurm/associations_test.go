package slurm

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// roundTrip answers a site's calls.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Who may run at a site is asked once a minute, and again once the federation has changed it: who has run "fed account sync" submits next.
func TestAssociationsAfterAChange(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("SLURM_JWT=x.e30.y"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	site := roundTrip(func(r *http.Request) (*http.Response, error) {
		body := `{"meta": {"plugin": {"data_parser": "data_parser/v0.0.42"}, "slurm": {"cluster": "alpha", "release": "24.11.5"}}}`
		if strings.Contains(r.URL.Path, "/associations") {
			asked++
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})
	d, err := Open(Config{Name: "alpha", URL: "http://alpha", TokenFile: token, Transport: site, AccountCommand: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	look := func(want int) {
		t.Helper()
		if _, err := d.members.associationsNow(t.Context()); err != nil || asked != want {
			t.Errorf("asked %d times, want %d; %v", asked, want, err)
		}
	}
	look(1)
	look(1)
	if err := d.keeper.Sacctmgr(t.Context(), []string{"add", "account", "Name=nlp"}); err != nil {
		t.Fatal(err)
	}
	look(2)
	look(2)
}
