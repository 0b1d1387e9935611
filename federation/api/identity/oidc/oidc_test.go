package oidc

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"fsub/testbed/openid"
)

func verifier(t *testing.T, c Config) *Verifier {
	t.Helper()
	if c.ClientID == "" {
		c.ClientID = "fsub"
	}
	v, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A token is taken for the user whom its claim names by the rule, if all of it is right; each thing that is wrong has its sentence.
func TestVerify(t *testing.T) {
	p, other := openid.Start(t), openid.Start(t)
	v := verifier(t, Config{Issuer: p.Issuer})
	email := verifier(t, Config{Issuer: p.Issuer, Claim: "email", Match: `([a-z]+)@example\.org`})
	if u, err := v.Verify(t.Context(), p.Sign(map[string]any{"nonce": "n"}), "n"); err != nil || u.Name != "alice" || u.Subject != "4711" || time.Until(u.Expires) < 30*time.Minute {
		t.Errorf("%+v, %v", u, err)
	}
	if u, err := email.Verify(t.Context(), p.Sign(map[string]any{"email": "bob@example.org", "email_verified": true}), ""); err != nil || u.Name != "bob" {
		t.Errorf("by email: %+v, %v", u, err)
	}
	good := p.Sign(nil)
	parts := strings.Split(good, ".")
	enc := base64.RawURLEncoding.EncodeToString
	for name, c := range map[string]struct {
		v           *Verifier
		token, says string
	}{
		"another nonce":        {v, p.Sign(map[string]any{"nonce": "m"}), "of another sign-in: its nonce differs"},
		"no nonce":             {v, good, "its nonce differs"},
		"another audience":     {v, p.Sign(map[string]any{"aud": "wiki"}), "for another client than fsub"},
		"no audience":          {v, p.Sign(map[string]any{"aud": nil}), "for another client than fsub"},
		"another issuer":       {v, p.Sign(map[string]any{"iss": other.Issuer}), "of another provider than " + p.Issuer},
		"another's key":        {v, other.Sign(map[string]any{"iss": p.Issuer}), "is not signed by " + p.Issuer},
		"expired":              {v, p.Sign(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "has expired at"},
		"without an end":       {v, p.Sign(map[string]any{"exp": nil}), "has expired at"},
		"changed":              {v, parts[0] + "." + enc([]byte(`{"iss":"`+p.Issuer+`","aud":"fsub","exp":9999999999,"preferred_username":"root"}`)) + "." + parts[2], "is not signed by"},
		"no algorithm":         {v, enc([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", "is not signed by"},
		"no token":             {v, "x", "is not signed by"},
		"no claim":             {v, p.Sign(map[string]any{"nonce": "n", "preferred_username": nil}), "has no claim preferred_username with a name"},
		"a claim that is none": {v, p.Sign(map[string]any{"nonce": "n", "preferred_username": 5}), "has no claim preferred_username"},
		"a name that is none":  {v, p.Sign(map[string]any{"nonce": "n", "preferred_username": "al ice\x1b[2J"}), `is "al ice\x1b[2J": that is no user by the rule`},
		"a line break":         {v, p.Sign(map[string]any{"nonce": "n", "preferred_username": "alice\n"}), "no user by the rule"},
		"another domain":       {email, p.Sign(map[string]any{"nonce": "n", "email": "bob@example.org.evil.com", "email_verified": true}), "no user by the rule"},
		"an email of his own":  {email, p.Sign(map[string]any{"nonce": "n", "email": "bob@example.org"}), "email is not verified"},
	} {
		if u, err := c.v.Verify(t.Context(), c.token, "n"); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v, want %q", name, u, err, c.says)
		}
	}
}

// A provider that changes its key is asked again, once for however many tokens, and one that is away is not asked for each.
func TestProviderIsAskedSeldom(t *testing.T) {
	p, other := openid.Start(t), openid.Start(t)
	now := time.Now()
	v := verifier(t, Config{Issuer: p.Issuer, Now: func() time.Time { return now }})
	p.Down.Store(true)
	for range 3 {
		if _, err := v.Verify(t.Context(), p.Sign(nil), ""); err == nil || !strings.Contains(err.Error(), "does not answer as one") {
			t.Errorf("a provider that is away: %v", err)
		}
	}
	p.Down.Store(false)
	if _, err := v.Verify(t.Context(), p.Sign(nil), ""); err == nil {
		t.Error("it is asked again at once")
	}
	now = now.Add(askAgain)
	other.Rotate("made-up")
	for range 50 {
		if _, err := v.Verify(t.Context(), p.Sign(nil), ""); err != nil {
			t.Fatal(err)
		}
		v.Verify(t.Context(), other.Sign(map[string]any{"iss": p.Issuer}), "")
	}
	if n := p.Asked.Load(); n != 1 {
		t.Errorf("asked for keys %d times, want once", n)
	}
	p.Rotate("two")
	now = now.Add(askAgain)
	if _, err := v.Verify(t.Context(), p.Sign(nil), ""); err != nil || p.Asked.Load() != 2 {
		t.Errorf("a new key: %v, asked %d times", err, p.Asked.Load())
	}
}

func TestConfig(t *testing.T) {
	good := Config{Issuer: "https://idp.example.org/realms/hpc", ClientID: "fsub"}
	if _, err := New(good); err != nil {
		t.Error(err)
	}
	for says, change := range map[string]func(*Config){
		"want https://HOST": func(c *Config) { c.Issuer = "http://idp.example.org" }, `invalid issuer ""`: func(c *Config) { c.Issuer = "" },
		"client_id is missing": func(c *Config) { c.ClientID = "" }, "want a regular expression with one group": func(c *Config) { c.Match = ".*" }, `invalid match "("`: func(c *Config) { c.Match = "(" },
	} {
		c := good
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
