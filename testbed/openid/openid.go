// Package openid is an OpenID provider for tests: it tells its endpoints and keys, signs what a test has it sign, and signs in users at devices and browsers.
package openid

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Provider is one that runs until its test ends.
type Provider struct {
	Issuer string
	Asked  atomic.Int32 // how often it was asked for its keys
	Down   atomic.Bool  // it answers nothing that is of use

	// Devices are the sign-ins of devices.
	Devices Devices
	// Browsers are those of browsers.
	Browsers Browsers

	t   testing.TB
	mu  sync.Mutex
	key *ecdsa.PrivateKey
	id  string
}

// Start runs one, with a first key "one".
func Start(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t}
	p.Rotate("one")
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	p.Issuer = srv.URL
	return p
}

// Rotate has it sign with another key.
func (p *Provider) Rotate(id string) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.id = key, id
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.Devices.serve(p, w, r) {
		return
	}
	if r.URL.Path == "/authorize" && !p.Down.Load() {
		p.Browsers.authorize(w, r)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case p.Down.Load():
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		about := map[string]any{"issuer": p.Issuer, "jwks_uri": p.Issuer + "/keys", "authorization_endpoint": p.Issuer + "/authorize", "token_endpoint": p.Issuer + "/token",
			"id_token_signing_alg_values_supported": []string{"ES256"}}
		if !p.Devices.Off {
			about["device_authorization_endpoint"] = p.Issuer + "/device"
		}
		json.NewEncoder(w).Encode(about)
	case r.URL.Path == "/keys":
		p.Asked.Add(1)
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: p.id, Algorithm: "ES256", Use: "sig"}}})
	default:
		http.NotFound(w, r)
	}
}

// Sign signs claims over those that a good token has for the client fsub: change has what differs, nil for what is not there.
func (p *Provider) Sign(change map[string]any) string {
	p.t.Helper()
	claims := map[string]any{"iss": p.Issuer, "aud": "fsub", "sub": "4711", "preferred_username": "alice", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.id}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	j, err := s.Sign(text)
	if err != nil {
		p.t.Fatal(err)
	}
	token, err := j.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}
