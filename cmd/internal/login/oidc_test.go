//go:build remote

package login

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/cmd/internal/conn"
	v1 "fsub/federation/api/v1"
)

// daemon answers sign-ins by what is next in says: "wait", "slower", "silent", "token", or a refusal.
type daemon struct {
	mu      sync.Mutex
	says    []string
	polls   []v1.LoginPoll
	at      []time.Time
	revoked string
	begin   v1.Login
}

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	refuse := func(status int, text string) {
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(v1.ErrorResponse{Error: v1.Error{Text: text, Alone: true}})
	}
	_, identified := r.Header["X-Slurm-User-Token"]
	switch token := r.Header.Get("X-SLURM-USER-TOKEN"); {
	case r.URL.Path == "/fed/v1/login" && !identified:
		json.NewEncoder(w).Encode(d.begin)
	case r.URL.Path == "/fed/v1/login/token" && !identified:
		var poll v1.LoginPoll
		json.NewDecoder(r.Body).Decode(&poll)
		d.polls, d.at = append(d.polls, poll), append(d.at, time.Now())
		next := d.says[0]
		if len(d.says) > 1 {
			d.says = d.says[1:]
		}
		switch next {
		case "wait", "slower":
			json.NewEncoder(w).Encode(v1.LoginState{Slower: next == "slower"})
		case "silent":
			refuse(503, "the OpenID provider does not answer")
		case "token":
			json.NewEncoder(w).Encode(v1.LoginState{Token: &v1.Token{Name: poll.Name, Token: "good", Scope: "submit"}})
		default:
			refuse(403, next)
		}
	case token != "good":
		refuse(401, "cannot tell who calls")
	case r.Method == "DELETE":
		d.revoked = r.URL.Path
		w.Write([]byte("{}"))
	default:
		json.NewEncoder(w).Encode(v1.Caller{User: "alice", Scope: "submit"})
	}
}

// A sign-in waits for the user as the provider wants it to, keeps the token that the daemon has made, and ends with it.
func TestLoginByProvider(t *testing.T) {
	second = 10 * time.Millisecond
	good := v1.Login{Secret: "s", Code: "ABCD-EFGH", Page: "https://idp/activate", Expires: 400, Interval: 1}
	for name, c := range map[string]struct {
		args  []string
		says  []string
		begin func(*v1.Login)
		err   string
	}{
		"confirmed":                {nil, []string{"wait", "wait", "token"}, nil, ""},
		"asked too often":          {[]string{"--scope", "read", "--name=x"}, []string{"slower", "wait", "token"}, nil, ""},
		"a provider that was away": {nil, []string{"silent", "silent", "token"}, nil, ""},
		"a provider that is away":  {nil, []string{"silent"}, func(l *v1.Login) { l.Expires = 10 }, "the OpenID provider does not answer"},
		"refused":                  {nil, []string{"wait", "the sign-in was refused at the provider's page"}, nil, "the sign-in was refused at the provider's page"},
		"never confirmed":          {nil, []string{"wait"}, func(l *v1.Login) { l.Expires = 10 }, "the code was not confirmed in time"},
		"an escape in a code":      {nil, []string{"token"}, func(l *v1.Login) { l.Code = "\x1b[2J" }, "is not an fsub daemon"},
		"an option of a token":     {[]string{"--nam=x"}, []string{"token"}, nil, `invalid argument "--nam=x"`},
	} {
		d := &daemon{says: c.says, begin: good}
		if c.begin != nil {
			c.begin(&d.begin)
		}
		srv := httptest.NewTLSServer(d)
		sum := sha256.Sum256(srv.Certificate().Raw)
		env := []string{"HOME=" + t.TempDir(), "FSUB_CLIENT_FILE=/none", "FSUB_SERVER=" + strings.TrimPrefix(srv.URL, "https://") + "#" + hex.EncodeToString(sum[:])}
		var out, said bytes.Buffer
		code := Main(append([]string{"--oidc"}, c.args...), env, nil, &out, &said)
		kept, err := conn.ReadLogin(env)
		switch {
		case c.err != "" && (code != 1 || !strings.Contains(said.String(), c.err) || kept.Token != "" || strings.Contains(said.String(), "\x1b")):
			t.Errorf("%s: %d %q %q, want %q", name, code, &out, &said, c.err)
		case c.err == "" && (code != 0 || err != nil || kept.Token != "good" || !strings.Contains(said.String(), "https://idp/activate") || !strings.Contains(said.String(), "ABCD-EFGH") || !strings.HasPrefix(out.String(), "Signed in as alice at ")):
			t.Errorf("%s: %d %q %q, %v", name, code, &out, &said, err)
		}
		switch name {
		case "asked too often":
			if first := d.polls[0]; first.Name != "x" || first.Scope != "read" || first.Secret != "s" || kept.Own != "x" {
				t.Errorf("%+v, %+v", first, kept)
			}
			for i := range 2 {
				if waited := d.at[i+1].Sub(d.at[i]); waited < 6*second {
					t.Errorf("asked again after %s, want %s at least", waited, 6*second)
				}
			}
		case "confirmed":
			out.Reset()
			if code := Logout(nil, env, &out, &said); code != 0 || !strings.Contains(out.String(), "the token "+kept.Own+" is revoked") || d.revoked != "/fed/v1/token/"+kept.Own || !strings.HasPrefix(kept.Own, "login-") {
				t.Errorf("logout: %d %s, %s", code, &out, d.revoked)
			}
			if _, err := os.Stat(conn.LoginFile(env)); err == nil {
				t.Error("the file is there still")
			}
		}
		srv.Close()
	}
}

// A token that cannot be revoked now is removed all the same, and the user is told.
func TestLogoutWithoutDaemon(t *testing.T) {
	env := []string{"HOME=" + t.TempDir()}
	at := conn.Client{Servers: []string{"127.0.0.1:1"}, Token: "good", Own: "login-x"}
	if err := at.Save(conn.LoginFile(env)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := Logout(nil, env, &out, &out); code != 0 || !strings.Contains(out.String(), "the token login-x is not revoked: no daemon answers at 127.0.0.1:1") {
		t.Errorf("%d %s", code, &out)
	}
	if _, err := os.Stat(conn.LoginFile(env)); err == nil {
		t.Error("the file is there still")
	}
}
