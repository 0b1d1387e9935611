package hostile

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "fsub/federation/api/v1"
	"fsub/testbed/openid"
)

// fromElsewhere is what an attacker calls the daemon by as from another machine.
type fromElsewhere struct {
	once  sync.Once
	http  *http.Client
	token v1.Token
}

// elsewhere makes a token of the attacker's own, which says where other machines find the daemon.
func (a *attacker) elsewhere(ctx context.Context) *fromElsewhere {
	a.remote.once.Do(func() {
		a.remote.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4}}
		resp, err := a.send(ctx, "POST", "/fed/v1/tokens", v1.Token{Name: "elsewhere", Scope: "read", Lifetime: "1h"})
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_ = json.NewDecoder(resp.Body).Decode(&a.remote.token)
	})
	return &a.remote
}

// badIDs is the file of those ID tokens of the daemon's provider that are not for the daemon, not by that key, not good any more, or name root.
const badIDs = "bad-ids"

// provider is one of OpenID. It writes tokens that nobody may call by.
func (w *world) provider(t *testing.T) (issuer string) {
	p, other := openid.Start(t), openid.Start(t)
	good := strings.Split(p.Sign(map[string]any{"preferred_username": "root"}), ".")
	bad := []string{
		p.Sign(map[string]any{"aud": "wiki"}), p.Sign(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), p.Sign(map[string]any{"preferred_username": "root"}),
		p.Sign(map[string]any{"preferred_username": strings.Repeat("x", 40<<10)}), other.Sign(map[string]any{"iss": p.Issuer}), other.Sign(nil),
		base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + good[1] + ".", good[0] + "." + good[1] + ".AAAA",
	}
	if err := os.WriteFile(w.file(badIDs), []byte(strings.Join(bad, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	return p.Issuer
}

// signIns tries to sign in by secrets that are made up, of more scope, and by ones of its own that nobody confirms.
func (a *attacker) signIns(ctx context.Context, r *rand.Rand) string {
	secret := strings.Repeat(strconv.FormatUint(r.Uint64(), 36), 1+r.IntN(1000))
	a.mu.Lock()
	begun := a.begun
	a.mu.Unlock()
	if r.IntN(2) == 0 {
		secret = begun
	}
	path, body := "/fed/v1/login/token", any(v1.LoginPoll{Secret: secret, Name: "x", Scope: []string{"", "read", "operate"}[r.IntN(3)]})
	if begun == "" {
		path, body = "/fed/v1/login", nil
	}
	resp, err := a.send(ctx, "POST", path, body)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	var said struct {
		Secret string
		Token  *v1.Token
	}
	if json.NewDecoder(resp.Body).Decode(&said); said.Token != nil {
		return "500 {a sign-in that nobody has confirmed}"
	} else if said.Secret != "" {
		a.mu.Lock()
		a.begun = said.Secret
		a.mu.Unlock()
	}
	return strconv.Itoa(resp.StatusCode)
}

// guesses calls over TLS with tokens and credentials that are made up, changed or somebody else's, and with its own.
func (a *attacker) guesses(ctx context.Context, r *rand.Rand) string {
	from := a.elsewhere(ctx)
	host, _, _ := strings.Cut(from.token.Server, "#")
	if host == "" {
		return a.call(ctx, "GET", "/fed/v1/caller", nil)
	}
	parts := strings.Split(from.token.Token, ".")
	const queue = "/slurm/v0.0.42/jobs"
	path, name, value := "/fed/v1/caller", "X-SLURM-USER-TOKEN", ""
	switch r.IntN(9) {
	case 0:
		value = parts[0] + "." + parts[1] + "." + strconv.FormatUint(r.Uint64(), 36)
	case 1:
		value = strings.Repeat("a.", r.IntN(1000))
	case 2:
		name, value = "X-Fsub-Munge", "alpha MUNGE:"+strconv.FormatUint(r.Uint64(), 36)+":"
	case 3:
		name, value = "X-Fsub-Caller", "0:0"
	case 4, 5, 6:
		bad, _ := os.ReadFile(filepath.Join(filepath.Dir(a.socket), badIDs))
		all := strings.Split(string(bad), "\n")
		value = all[r.IntN(len(all))]
	case 7:
		path, value = queue, from.token.Token
	default:
		value = from.token.Token
	}
	req, err := http.NewRequestWithContext(ctx, "GET", "https://"+host+path, nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set(name, value)
	resp, err := from.http.Do(req)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	if good := value == from.token.Token; resp.StatusCode == http.StatusOK && !good {
		return "500 {a guess was taken}" // which fails the test
	}
	return strconv.Itoa(resp.StatusCode)
}
