package api_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/munge"
	"fsub/federation/api/submission"
	v1 "fsub/federation/api/v1"
	"fsub/federation/audit"
	"fsub/federation/records"
	"fsub/testbed/apitest"
)

// overTLS has a daemon listen for other machines too, and returns what calls it there with a token, or a credential after "munge ".
func overTLS(t *testing.T, d *apitest.Daemon) func(token, method, path string, in, out any) (status int, refusal string) {
	t.Helper()
	cert := httptest.NewTLSServer(nil)
	t.Cleanup(cert.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go d.Server.Serve(t.Context(), tls.NewListener(l, cert.TLS))
	return func(token, method, path string, in, out any) (int, string) {
		t.Helper()
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest(method, "https://"+l.Addr().String()+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if cred, ok := strings.CutPrefix(token, "munge "); ok {
			r.Header.Set(munge.Header, cred)
		} else {
			r.Header.Set("X-SLURM-USER-TOKEN", token)
		}
		resp, err := cert.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var text bytes.Buffer
		text.ReadFrom(resp.Body)
		if out != nil && resp.StatusCode == 200 {
			if err := json.Unmarshal(text.Bytes(), out); err != nil {
				t.Fatalf("%s: %v", &text, err)
			}
		}
		return resp.StatusCode, text.String()
	}
}

func withTokens(t *testing.T, tokens *identity.Tokens, over api.Config) *apitest.Daemon {
	over.Tokens, over.RemoteAddress = tokens, func() string { return "tls://fed.example.org:6829#ab" }
	over.Users, over.Operators = users{0: "root", alice: "alice", bob: "bob", olga: "olga"}, []string{"olga"}
	return apitest.Start(t, over)
}

// A person's token does what its scope says, in its owner's name, until it is revoked, replaced or expired; only on the socket are tokens made.
func TestIssuedTokens(t *testing.T) {
	d := withTokens(t, identity.NewTokens([]byte("key")), api.Config{})
	d.Controller.SetSites(&federation.Site{Name: "alpha", Answering: true})
	call := overTLS(t, d)
	create := func(uid uint32, q v1.Token) (made v1.Token) {
		t.Helper()
		if status := as(t, uid, d.Socket, "POST", "/fed/v1/tokens", q, &made); status != 200 || made.Token == "" || made.Server != "fed.example.org:6829#ab" {
			t.Fatalf("%+v: status %d, %+v", q, status, made)
		}
		return made
	}
	jobs := d.Put(t, job(0, alice, federation.Running), job(0, bob, federation.Running))
	look := create(alice, v1.Token{Name: "look", Scope: "read", Lifetime: "12h"})
	ci := create(alice, v1.Token{Name: "ci", Scope: "submit", Lifetime: "30d", User: "root"})
	operate := create(olga, v1.Token{Name: "night", Scope: "operate", Lifetime: "8w"})
	root := create(0, v1.Token{Name: "root", Scope: "operate", Lifetime: "1h"})
	if ci.User != "alice" || !ci.Expires.Equal(ci.Created.Add(30*24*time.Hour)) {
		t.Errorf("%+v", ci)
	}
	hold := func(id federation.JobID) v1.ActRequest { return v1.ActRequest{Jobs: []v1.JobRef{{ID: id}}} }
	maySeeOwn, maySeeOther := fmt.Sprintf("/fed/v1/job/%d/payload", jobs[0]), fmt.Sprintf("/fed/v1/job/%d/payload", jobs[1])
	for _, c := range []struct {
		name, token, method, path string
		body                      any
		status                    int
		says                      string
	}{
		{"read looks", look.Token, "GET", maySeeOwn, nil, 200, ""},
		{"read sees what is its owner's only", look.Token, "GET", maySeeOther, nil, 403, ""},
		{"read submits nothing", look.Token, "POST", "/fed/v1/job", raw(same), 403, "scope read"},
		{"read changes nothing", look.Token, "POST", "/fed/v1/jobs/hold", hold(jobs[0]), 403, "scope read"},
		{"read changes nothing by REST", look.Token, "DELETE", fmt.Sprintf("/slurm/v0.0.42/job/%d", jobs[0]), nil, 500, "scope read"}, // as slurmrestd answers
		{"submit submits", ci.Token, "POST", "/fed/v1/job", raw(same), 200, ""},
		{"submit is no operator", ci.Token, "GET", maySeeOther, nil, 403, ""},
		{"submit drains nothing", ci.Token, "POST", "/fed/v1/site/alpha/state", v1.SetSiteState{State: federation.FedDrain, Reason: "x"}, 403, ""},
		{"submit makes no token", ci.Token, "POST", "/fed/v1/tokens", v1.Token{Name: "x", Scope: "submit", Lifetime: "1h"}, 403, "daemon's machine"},
		{"submit revokes none", ci.Token, "DELETE", "/fed/v1/token/look", nil, 403, "daemon's machine"},
		{"operate operates", operate.Token, "POST", "/fed/v1/site/alpha/state", v1.SetSiteState{State: federation.FedDrain, Reason: "x"}, 200, ""},
		{"operate makes no token", operate.Token, "POST", "/fed/v1/tokens", v1.Token{Name: "x", Scope: "operate", Lifetime: "1h"}, 403, "daemon's machine"},
		{"operate is no administrator", operate.Token, "POST", "/fed/v1/daemons/step-down", nil, 403, "an administrator may"},
		{"nor is root's", root.Token, "POST", "/fed/v1/daemons/step-down", nil, 403, "an administrator may"},
		{"changed at its end", ci.Token + "x", "GET", "/fed/v1/caller", nil, 401, "not made by this daemon"},
	} {
		if status, text := call(c.token, c.method, c.path, c.body, nil); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, text)
		}
	}
	var who v1.Caller
	if call(operate.Token, "GET", "/fed/v1/caller", nil, &who); who.User != "olga" || who.Role != "Operator" || who.Scope != "operate" || who.From != "token night" || !who.Expires.Equal(operate.Expires) {
		t.Errorf("%+v", who)
	}
	var all []v1.Token
	if as(t, alice, d.Socket, "GET", "/fed/v1/tokens", nil, &all); len(all) != 2 || all[0].Token != "" || all[0].User != "alice" {
		t.Errorf("alice's: %+v", all)
	}
	if as(t, olga, d.Socket, "GET", "/fed/v1/tokens", nil, &all); len(all) != 4 {
		t.Errorf("an operator sees %+v", all)
	}
	kept, err := d.Store.Records(t.Context(), "token", "")
	for _, r := range kept {
		for _, secret := range []string{look.Token, ci.Token, operate.Token} {
			if err != nil || bytes.Contains(r.Value, []byte(secret)) || bytes.Contains(r.Value, []byte(strings.Split(secret, ".")[1])) {
				t.Errorf("the store has %s, %v", r.Value, err)
			}
		}
	}
	// One of the same name takes its place, and operators revoke those of others. Both count at once.
	again := create(alice, v1.Token{Name: "ci", Scope: "read", Lifetime: "1h"})
	if status, text := call(ci.Token, "GET", "/fed/v1/caller", nil, nil); status != 401 || !strings.Contains(text, "made in its place") {
		t.Errorf("replaced: %d %s", status, text)
	}
	if status := as(t, bob, d.Socket, "DELETE", "/fed/v1/token/ci?user=alice", nil, nil); status != 403 {
		t.Errorf("bob revokes alice's: %d", status)
	}
	if status := as(t, olga, d.Socket, "DELETE", "/fed/v1/token/ci?user=alice", nil, nil); status != 200 {
		t.Errorf("olga revokes alice's: %d", status)
	}
	if status, text := call(again.Token, "GET", "/fed/v1/caller", nil, nil); status != 401 || !strings.Contains(text, "was revoked") {
		t.Errorf("revoked: %d %s", status, text)
	}
	// Whoever is an operator no more operates no more, and root of before neither.
	d.Server.Tune(nil, submission.Bounds{})
	if status, _ := call(operate.Token, "POST", "/fed/v1/site/alpha/state", v1.SetSiteState{State: federation.FedActive}, nil); status != 403 {
		t.Errorf("an operator of before: %d", status)
	}
	entries, err := d.Store.Audit(t.Context(), audit.Query{Kind: audit.Token, Limit: 100})
	if err != nil || len(entries) != 6 || entries[5].Verb != "revoke-token" || entries[5].Who.User != "olga" || entries[5].Object != "alice/ci" {
		t.Errorf("%v: %+v", err, entries)
	}
}

// What a token may not be is refused with a sentence.
func TestTokensThatAreRefused(t *testing.T) {
	now := time.Now()
	tokens := identity.NewTokens([]byte("key"))
	d := withTokens(t, tokens, api.Config{Now: func() time.Time { return now }})
	call := overTLS(t, d)
	for name, c := range map[string]struct {
		q    v1.Token
		says string
	}{
		"a name":                 {v1.Token{Name: "../x", Scope: "read", Lifetime: "1h"}, "invalid name"},
		"a scope":                {v1.Token{Name: "x", Scope: "root", Lifetime: "1h"}, `invalid scope "root": want read, submit or operate`},
		"no scope":               {v1.Token{Name: "x", Lifetime: "1h"}, "invalid scope"},
		"an operator's":          {v1.Token{Name: "x", Scope: "operate", Lifetime: "1h"}, "only operators"},
		"no lifetime":            {v1.Token{Name: "x", Scope: "read"}, `invalid lifetime "": want hours`},
		"too long":               {v1.Token{Name: "x", Scope: "read", Lifetime: "367d"}, "a year at most"},
		"a number that wraps":    {v1.Token{Name: "x", Scope: "read", Lifetime: "65535w"}, "a year at most"},
		"a negative one":         {v1.Token{Name: "x", Scope: "read", Lifetime: "-1d"}, "invalid lifetime"},
		"a unit that is unknown": {v1.Token{Name: "x", Scope: "read", Lifetime: "5y"}, "invalid lifetime"},
	} {
		var no v1.ErrorResponse
		if status := as(t, alice, d.Socket, "POST", "/fed/v1/tokens", c.q, &no); status < 400 || !strings.Contains(no.Error.Text, c.says) {
			t.Errorf("%s: %d %q", name, status, no.Error.Text)
		}
	}
	for i := range v1.Tokens.Most + 1 {
		var no v1.ErrorResponse
		status := as(t, alice, d.Socket, "POST", "/fed/v1/tokens", v1.Token{Name: fmt.Sprint("t", i), Scope: "read", Lifetime: "1h"}, &no)
		if i < v1.Tokens.Most != (status == 200) || i == v1.Tokens.Most && !strings.Contains(no.Error.Text, "fed token revoke NAME") {
			t.Errorf("token %d: %d %q", i, status, no.Error.Text)
		}
	}
	// A token that was made for another uid of the name, or of a user who has gone.
	for _, i := range []identity.Issued{{Owner: "bob", Name: "x", UID: bob + 1, Scope: "submit"}, {Owner: "nobody-any-more", Name: "x", UID: 77, Scope: "submit"}} {
		i.Created, i.Expires = now, now.Add(time.Hour)
		tokens.Issue(&i)
		text, _ := json.Marshal(i)
		if err := d.Store.PutRecord(t.Context(), &records.Record{Kind: "token", Owner: i.Owner, Name: i.Name, Value: text}); err != nil {
			t.Fatal(err)
		}
		if status, text := call(i.Text, "GET", "/fed/v1/caller", nil, nil); status != 401 || !strings.Contains(text, "made for uid") && !strings.Contains(text, "not a user of this machine") {
			t.Errorf("%s: %d %s", i.Owner, status, text)
		}
	}
}

// countingStore counts how often tokens are looked up.
type countingStore struct {
	*apitest.Store
	looks int
}

func (s *countingStore) Records(ctx context.Context, kind, owner string) ([]records.Record, error) {
	s.looks++
	return s.Store.Records(ctx, kind, owner)
}

// Guesses cost no look at the store; what was signed and expired costs none either.
func TestGuessesAreCheap(t *testing.T) {
	tokens := identity.NewTokens([]byte("key"))
	st := &countingStore{Store: apitest.NewStore()}
	d := withTokens(t, tokens, api.Config{Store: st})
	call := overTLS(t, d)
	one := identity.Issued{Owner: "alice", Name: "x", UID: alice, Scope: "submit", Created: time.Now().Add(-2 * time.Hour), Expires: time.Now().Add(-time.Hour)}
	tokens.Issue(&one)
	other := one
	other.Expires = time.Now().Add(time.Hour)
	identity.NewTokens([]byte("another key")).Issue(&other)
	for _, c := range []struct{ token, says string }{{one.Text, "expired"}, {other.Text, "not made"}, {"guess", "not made"}, {strings.Repeat("a.", 1000), "not made"}} {
		for range 20 {
			if status, text := call(c.token, "GET", "/fed/v1/caller", nil, nil); status != 401 || !strings.Contains(text, c.says) {
				t.Fatalf("%.20s: %d %s", c.token, status, text)
			}
		}
	}
	if st.looks != 0 {
		t.Errorf("%d looks at the store", st.looks)
	}
}
