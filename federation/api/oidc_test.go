package api_test

import (
	"strings"
	"testing"

	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	v1 "fsub/federation/api/v1"
	"fsub/testbed/openid"
)

// An ID token of the provider is a user of this machine, an ordinary one whatever its claims say, and never root.
func TestTokensOfAProvider(t *testing.T) {
	p, other := openid.Start(t), openid.Start(t)
	v, err := oidc.New(oidc.Config{Issuer: p.Issuer, ClientID: "fsub"})
	if err != nil {
		t.Fatal(err)
	}
	call := overTLS(t, withTokens(t, identity.NewTokens([]byte("key")), api.Config{Provider: v}))
	var who v1.Caller
	status, said := call(p.Sign(map[string]any{"preferred_username": "olga", "roles": []string{"operator", "admin"}, "groups": "wheel"}), "GET", "/fed/v1/caller", nil, &who)
	if status != 200 || who.User != "olga" || who.Role != "None" || who.Scope != "submit" || who.From != "oidc" || who.Expires.IsZero() {
		t.Errorf("an operator's: %d %s", status, said)
	}
	for name, c := range map[string]struct{ token, says string }{
		"unknown user":     {p.Sign(map[string]any{"preferred_username": "eve"}), "is not a user of the daemon's machine"},
		"uid 0":            {p.Sign(map[string]any{"preferred_username": "root"}), "would be root on the daemon's machine"},
		"another audience": {p.Sign(map[string]any{"aud": "wiki"}), "for another client than fsub"},
		"another provider": {other.Sign(nil), "nor by a site or provider whose tokens it takes"},
		"another's key":    {other.Sign(map[string]any{"iss": p.Issuer}), "is not signed by"},
	} {
		if status, said := call(c.token, "GET", "/fed/v1/caller", nil, nil); status != 401 || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %q", name, status, said, c.says)
		}
	}
}
