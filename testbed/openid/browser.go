package openid

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
)

// Browsers are the sign-ins of browsers by the code flow. Fields are set before the provider is asked.
type Browsers struct {
	User   string         // whom it signs in, asking nobody; "": alice
	Change map[string]any // what differs in the ID token, as [Provider.Sign] has it: "nonce" for another one
	Says   string         // what it sends the browser back with instead of a code, as "access_denied"; "": a code
	State  string         // that it sends the browser back with; "": the one that it was given

	mu    sync.Mutex
	begun map[string]url.Values // what /authorize was asked, by code
}

// authorize sends a browser back with a code, as if its user had signed in.
func (b *Browsers) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != "fsub" || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "this is no request of the code flow with PKCE", http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	to := url.Values{"state": {q.Get("state")}}
	if b.State != "" {
		to.Set("state", b.State)
	}
	if b.Says != "" {
		to.Set("error", b.Says)
	} else {
		code := rand.Text()
		if b.begun == nil {
			b.begun = map[string]url.Values{}
		}
		b.begun[code] = q
		to.Set("code", code)
	}
	back.RawQuery = to.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token exchanges a code for an ID token, once.
func (b *Browsers) token(p *Provider, w http.ResponseWriter, r *http.Request, refuse func(string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q, known := b.begun[r.PostFormValue("code")]
	delete(b.begun, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || q.Get("redirect_uri") != r.PostFormValue("redirect_uri") || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) {
		refuse("invalid_grant")
		return
	}
	claims := map[string]any{"nonce": q.Get("nonce")}
	if b.User != "" {
		claims["preferred_username"] = b.User
	}
	for name, v := range b.Change {
		claims[name] = v
	}
	json.NewEncoder(w).Encode(map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.Sign(claims)})
}
