//go:build remote

package login

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
)

// What is signed in is what the daemon says of the token; nothing is kept of one that it refuses.
func TestLogin(t *testing.T) {
	expires := time.Now().Add(time.Hour)
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("X-SLURM-USER-TOKEN") {
		case "good":
			json.NewEncoder(w).Encode(v1.Caller{User: "alice", Scope: "submit", Expires: expires})
		case "html":
			io.WriteString(w, "<html>")
		default:
			w.WriteHeader(401)
			json.NewEncoder(w).Encode(v1.ErrorResponse{Error: v1.Error{Text: "cannot tell who calls: the token has expired"}})
		}
	}))
	defer srv.Close()
	sum := sha256.Sum256(srv.Certificate().Raw)
	host := strings.TrimPrefix(srv.URL, "https://")
	server := host + "#" + hex.EncodeToString(sum[:])
	dir := t.TempDir()
	env := []string{"HOME=" + dir, "FSUB_CLIENT_FILE=" + dir + "/none"}
	run := func(in string, env []string, args ...string) (code int, out, said string) {
		path := filepath.Join(dir, "in")
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var stdout, stderr bytes.Buffer
		code = Main(args, env, f, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	created, _ := json.Marshal(v1.Token{User: "alice", Token: "good", Server: server})
	for name, c := range map[string]struct {
		in   string
		args []string
		env  []string
		says string // "": it succeeds
	}{
		"a token and a server":   {"good\n", []string{"--server", server}, nil, ""},
		"as scontrol prints it":  {"SLURM_JWT=good", []string{"--server=127.0.0.1:1," + server}, nil, ""},
		"what fed prints":        {string(created), nil, nil, ""},
		"a server by the name":   {"good", nil, []string{"FSUB_SERVER=" + server}, ""},
		"an expired one":         {"old", []string{"--server", server}, nil, "refuses the token: cannot tell who calls: the token has expired"},
		"no token":               {"\n", []string{"--server", server}, nil, "no token: give it on standard input"},
		"two words":              {"a b", []string{"--server", server}, nil, "invalid token: want one word"},
		"a line break in it":     {"{\"token\":\"a\\nb\"}", []string{"--server", server}, nil, "invalid token"},
		"too long":               {strings.Repeat("x", 9000), []string{"--server", server}, nil, "invalid token"},
		"broken JSON":            {"{", []string{"--server", server}, nil, "not what fed token create --json prints"},
		"no server":              {"good", nil, nil, "no server is known: name one with --server HOST"},
		"a server that is gone":  {"good", []string{"--server", "127.0.0.1:1"}, nil, "nothing listens there"},
		"another service":        {"html", []string{"--server", server}, nil, "is not an fsub daemon"},
		"quotes in a server":     {"good", []string{"--server", "a\"b"}, nil, "invalid --server or --ca"},
		"an argument too many":   {"good", []string{"now"}, nil, `invalid argument "now"`},
		"an option with nothing": {"good", []string{"--ca"}, nil, "--ca wants a value"},
	} {
		os.RemoveAll(dir + "/.config")
		code, out, said := run(c.in, append(env, c.env...), c.args...)
		st, err := os.Stat(dir + "/.config/fsub/login.yaml")
		switch {
		case c.says == "" && (code != 0 || !strings.HasPrefix(out, "Signed in as alice at ") || !strings.Contains(out, "scope submit, until ") || err != nil || st.Mode().Perm() != 0o600):
			t.Errorf("%s: %d %q %q, %v", name, code, out, said, err)
		case c.says != "" && (code != 1 || !strings.Contains(said, c.says) || err == nil):
			t.Errorf("%s: %d %q, want %q; %v", name, code, said, c.says, err)
		case strings.Contains(out+said, "good"):
			t.Errorf("%s: the token is shown: %q %q", name, out, said)
		}
	}
	run(string(created), env)
	c := conn.FromEnv(env)
	defer c.Close()
	if status, body, err := c.Do("GET", "/", nil); status != 200 || err != nil || !strings.Contains(string(body), "alice") {
		t.Errorf("signed in: %d %s %v", status, body, err)
	}
	for _, want := range []int{0, 1} {
		var out, said bytes.Buffer
		if code := Logout(nil, env, &out, &said); code != want || want == 0 && !strings.Contains(out.String(), "fed token revoke") || want == 1 && !strings.Contains(said.String(), "nobody is signed in") {
			t.Errorf("logout: %d %s %s", code, &out, &said)
		}
	}
}
