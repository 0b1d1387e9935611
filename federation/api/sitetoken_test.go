package api_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"fsub/federation/api"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/secret"
)

// scontrolToken is what "scontrol token" prints, with a key and claims.
func scontrolToken(key []byte, head, claims string) string {
	enc := base64.RawURLEncoding.EncodeToString
	text := enc([]byte(head)) + "." + enc([]byte(claims))
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return text + "." + enc(m.Sum(nil))
}

// A site's token is the user whom its name stands for, an ordinary one, for as long as it is good and the site's key is what it was.
func TestTokensOfSites(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	signer := func(id string) (*rsa.PrivateKey, jose.Signer) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return key, s
	}
	sign := func(s jose.Signer, claims string) string {
		j, err := s.Sign([]byte(claims))
		if err != nil {
			t.Fatal(err)
		}
		text, err := j.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	key, otherKey := []byte(strings.Repeat("a", 32)), []byte(strings.Repeat("b", 32))
	rsaKey, beta := signer("one")
	_, stranger := signer("one")
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &rsaKey.PublicKey, KeyID: "one", Algorithm: "RS256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	keyFile := file("alpha.key", key, 0o600)
	sites := map[string]*identity.TokenSite{
		"alpha": {File: keyFile, Users: identity.SiteUsers{"alice": {Name: "al"}, "root": {Name: "toor"}}},
		"beta":  {File: file("beta.jwks", set, 0o644)},
		"gamma": {File: file("gamma.key", otherKey, 0o600)}, "delta": {File: file("delta.key", otherKey, 0o600)},
	}
	of := func(sites map[string]*identity.TokenSite) func(token string) (v1.Caller, int, string) {
		call := overTLS(t, withTokens(t, identity.NewTokens([]byte("key")), api.Config{SiteTokens: &identity.SiteTokens{Sites: sites, Private: secret.Check}}))
		return func(token string) (who v1.Caller, status int, said string) {
			status, said = call(token, "GET", "/fed/v1/caller", nil, &who)
			return who, status, said
		}
	}
	ask := of(sites)
	const head = `{"alg":"HS256","typ":"JWT"}`
	until := time.Now().Add(time.Hour).Unix()
	claims := func(user string) string { return fmt.Sprintf(`{"exp":%d,"iat":%d,"sun":%q}`, until, until-3600, user) }
	alpha := func(claims string) string { return scontrolToken(key, head, claims) }
	for name, c := range map[string]struct{ token, user string }{
		"by the key":           {alpha(claims("al")), "alice"},
		"a name that is equal": {alpha(claims("bob")), "bob"},
		"for ever":             {alpha(`{"exp":9223372036854775807,"sun":"bob"}`), "bob"},
		"by JWKS":              {sign(beta, claims("alice")), "alice"},
	} {
		if who, status, said := ask(c.token); status != 200 || who.User != c.user || who.Role != "None" || who.Scope != "submit" || !strings.HasPrefix(who.From, "site ") {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	public, _ := json.Marshal(rsaKey.PublicKey.N)
	for name, c := range map[string]struct{ token, says string }{
		"another key":                  {scontrolToken([]byte(strings.Repeat("x", 32)), head, claims("al")), "nor by a site"},
		"expired":                      {alpha(`{"exp":1000000000,"sun":"bob"}`), "has expired, or does not say when it does"},
		"without an end":               {alpha(`{"sun":"bob"}`), "has expired, or does not say when it does"},
		"not good yet":                 {alpha(fmt.Sprintf(`{"exp":%d,"nbf":%d,"sun":"bob"}`, until, until)), "is not good yet"},
		"nobody's":                     {alpha(fmt.Sprintf(`{"exp":%d}`, until)), "names no user"},
		"a stranger's":                 {alpha(claims("eve")), "is not a user of the daemon's machine"},
		"root's":                       {alpha(claims("root")), "root of alpha is not root here, who is toor there"},
		"one who becomes root":         {alpha(claims("toor")), "toor of alpha would be root on the daemon's machine"},
		"root's, where names are same": {sign(beta, claims("root")), "root of beta would be root"},
		"one who is another there":     {alpha(claims("alice")), "alice of alpha is not alice here, who is al there"},
		"no algorithm":                 {scontrolToken(nil, `{"alg":"none","typ":"JWT"}`, claims("bob")), "nor by a site"},
		"a public key as a secret":     {scontrolToken(public, `{"alg":"HS256","typ":"JWT","kid":"one"}`, claims("bob")), "nor by a site"},
		"another's RSA key":            {sign(stranger, claims("bob")), "nor by a site"},
		"two sites with one key":       {scontrolToken(otherKey, head, claims("bob")), "several sites have signed the token, having one key: delta, gamma"},
		"numbers that are none":        {alpha(`{"exp":"x","sun":"bob"}`), "cannot be read"},
		"too many parts":               {alpha(claims("bob")) + ".x", "nor by a site"},
	} {
		if _, status, said := ask(c.token); status != 401 || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %q", name, status, said, c.says)
		}
	}
	// A key that is changed counts at once, and one that others may read not at all.
	file("alpha.key", []byte(strings.Repeat("c", 33)), 0o600)
	if _, status, _ := ask(alpha(claims("bob"))); status != 401 {
		t.Errorf("by the key of before: %d", status)
	}
	if who, status, said := ask(scontrolToken([]byte(strings.Repeat("c", 33)), head, claims("bob"))); status != 200 || who.User != "bob" {
		t.Errorf("by the new key: %d %s", status, said)
	}
	open := file("open.key", key, 0o644)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, status, said := of(map[string]*identity.TokenSite{"alpha": {File: open}})(alpha(claims("bob"))); status != 401 || !strings.Contains(said, "the tokens of site alpha cannot be checked") {
		t.Errorf("a key that others may read: %d %s", status, said)
	}
}
