package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/testbed/openid"
)

// Whoever confirms the code at the provider gets a token of the user whom the provider names, of the scope that the configuration allows, and it can be revoked as any other.
func TestLogin(t *testing.T) {
	p := openid.Start(t)
	p.Devices.Interval = 1
	v, err := oidc.New(oidc.Config{Issuer: p.Issuer, ClientID: "fsub"})
	if err != nil {
		t.Fatal(err)
	}
	d := withTokens(t, identity.NewTokens([]byte("key")), api.Config{Provider: v, SignIn: api.SignIn{Scope: identity.ScopeOperate, Lifetime: time.Hour}})
	call := overTLS(t, d)
	begin := func() (l v1.Login) {
		t.Helper()
		if status, said := call("", "POST", "/fed/v1/login", nil, &l); status != 200 || l.Code == "" || l.Secret == "" || l.Interval != 1 || l.Page != p.Issuer+"/activate" {
			t.Fatalf("%d %s", status, said)
		}
		return l
	}
	poll := func(l v1.Login, name, scope string) (st v1.LoginState, status int, said string) {
		t.Helper()
		status, said = call("", "POST", "/fed/v1/login/token", v1.LoginPoll{Secret: l.Secret, Name: name, Scope: scope}, &st)
		return st, status, said
	}
	for _, c := range []struct{ user, asked, scope, role string }{
		{"alice", "", "submit", "None"}, {"alice", "operate", "submit", "None"}, {"bob", "read", "read", "None"}, {"olga", "", "operate", "Operator"}, {"olga", "submit", "submit", "None"},
	} {
		l := begin()
		if st, status, said := poll(l, "pad", c.asked); status != 200 || st.Token != nil || st.Slower {
			t.Fatalf("before it is confirmed: %d %s", status, said)
		}
		p.Devices.Confirm(l.Code, map[string]any{"preferred_username": c.user, "roles": "admin"})
		st, status, said := poll(l, "pad", c.asked)
		if status != 200 || st.Token == nil || st.Token.User != c.user || st.Token.Scope != c.scope || time.Until(st.Token.Expires) > time.Hour {
			t.Fatalf("%+v: %d %s", c, status, said)
		}
		var who v1.Caller
		if call(st.Token.Token, "GET", "/fed/v1/caller", nil, &who); who.User != c.user || who.Scope != c.scope || who.Role != c.role || who.From != "token pad" {
			t.Errorf("%+v: %+v", c, who)
		}
		if st, status, said := poll(l, "pad", c.asked); status != 403 || st.Token != nil || !strings.Contains(said, "completed before") {
			t.Errorf("a second time: %d %s", status, said)
		}
		if c.user == "bob" {
			if status := as(t, bob, d.Socket, "DELETE", "/fed/v1/token/pad", nil, nil); status != 200 {
				t.Errorf("revoke: %d", status)
			}
			if status, _ := call(st.Token.Token, "GET", "/fed/v1/caller", nil, nil); status != 401 {
				t.Errorf("revoked: %d", status)
			}
		}
	}
	entries, err := d.Store.Audit(t.Context(), audit.Query{Kind: audit.Token, Limit: 100})
	if err != nil || len(entries) != 6 || entries[0].Verb != "create-token" || entries[0].Who.User != "alice" || entries[0].Who.From != "oidc" || entries[0].Object != "alice/pad" {
		t.Errorf("%v: %+v", err, entries)
	}
}

// What is wrong with a sign-in is said in a sentence, and makes no token.
func TestLoginRefused(t *testing.T) {
	p := openid.Start(t)
	v, err := oidc.New(oidc.Config{Issuer: p.Issuer, ClientID: "fsub"})
	if err != nil {
		t.Fatal(err)
	}
	d := withTokens(t, identity.NewTokens([]byte("key")), api.Config{Provider: v})
	call := overTLS(t, d)
	for name, c := range map[string]struct {
		poll   v1.LoginPoll
		claims map[string]any
		status int
		says   string
	}{
		"unknown user":  {v1.LoginPoll{Name: "x"}, map[string]any{"preferred_username": "eve"}, 401, "is not a user of the daemon's machine"},
		"uid 0":         {v1.LoginPoll{Name: "x"}, map[string]any{"preferred_username": "root"}, 401, "would be root on the daemon's machine"},
		"more scope":    {v1.LoginPoll{Name: "x", Scope: "operate"}, nil, 403, "gets submit at most"},
		"no scope":      {v1.LoginPoll{Name: "x", Scope: "root"}, nil, 400, `invalid scope \"root\"`},
		"no name":       {v1.LoginPoll{}, nil, 400, "invalid name"},
		"a guess":       {v1.LoginPoll{Name: "x", Secret: "guess"}, nil, 403, "does not know the sign-in"},
		"a long secret": {v1.LoginPoll{Name: "x", Secret: strings.Repeat("x", 5<<10)}, nil, 400, "secret is that of a sign-in"},
		"a large body":  {v1.LoginPoll{Name: "x", Secret: strings.Repeat("x", 64<<10)}, nil, 400, "request body too large"},
		"no audience":   {v1.LoginPoll{Name: "x"}, map[string]any{"aud": "wiki"}, 403, "for another client than fsub"},
	} {
		var l v1.Login
		if status, said := call("", "POST", "/fed/v1/login", nil, &l); status != 200 {
			t.Fatalf("%d %s", status, said)
		}
		p.Devices.Confirm(l.Code, c.claims)
		if c.poll.Secret == "" {
			c.poll.Secret = l.Secret
		}
		if status, said := call("", "POST", "/fed/v1/login/token", c.poll, nil); status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %d %q", name, status, said, c.status, c.says)
		}
	}
	p.Down.Store(true)
	if status, said := call("", "POST", "/fed/v1/login", nil, nil); status != 503 || !strings.Contains(said, "does not answer: status 502") {
		t.Errorf("a provider that is away: %d %s", status, said)
	}
	if all, err := d.Store.Records(t.Context(), "token", ""); err != nil || len(all) != 0 {
		t.Errorf("tokens were made: %v, %v", all, err)
	}
	none := overTLS(t, withTokens(t, identity.NewTokens([]byte("key")), api.Config{}))
	if status, said := none("", "POST", "/fed/v1/login", nil, nil); status != 404 || !strings.Contains(said, "has no OpenID provider: give a token") {
		t.Errorf("without a provider: %d %s", status, said)
	}
}

// However many sign in from one address, the provider is asked at a rate, and what is too much is refused at once.
func TestStrangersAreBounded(t *testing.T) {
	p := openid.Start(t)
	v, err := oidc.New(oidc.Config{Issuer: p.Issuer, ClientID: "fsub"})
	if err != nil {
		t.Fatal(err)
	}
	call := overTLS(t, withTokens(t, identity.NewTokens([]byte("key")), api.Config{Provider: v}))
	const all = 60
	var group sync.WaitGroup
	var mu sync.Mutex
	count := map[string]int{}
	began := time.Now()
	for range all {
		group.Go(func() {
			status, said := call("", "POST", "/fed/v1/login/token", v1.LoginPoll{Name: "x", Secret: "guess"}, nil)
			mu.Lock()
			defer mu.Unlock()
			count[fmt.Sprint(status, " ", strings.Contains(said, "too many sign in from this address"))]++
		})
	}
	group.Wait()
	took := time.Since(began)
	asked := int(p.Devices.Polls.Load())
	if count["503 true"]+count["403 false"] != all || count["503 true"] < all-8-32-8 || count["503 true"] == 0 {
		t.Errorf("%v", count)
	}
	if rate := float64(asked-8) / took.Seconds(); rate > 8.5 {
		t.Errorf("%d polls in %s", asked, took)
	}
}
