// Package oidc verifies ID tokens of an OpenID provider, and makes users of this machine of them by a rule. [Verifier] is all there is: the API takes tokens by it that
// come with a request; by [Verifier.Begin] and [Verifier.Poll] users sign in at a terminal, by [Verifier.BeginAtBrowser] and [Verifier.Complete] at a browser. It gives no
// roles: no claim can.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Config is what a Verifier is made of.
type Config struct {
	Issuer   string // https://HOST[/PATH]; http:// of this machine alone
	ClientID string // the audience that tokens must have
	Secret   string // by which the provider knows the client that signs users in; "": the client is a public one
	Claim    string // whose value names the user; "": preferred_username
	// Match is a regular expression with one group for the whole of the claim's value: the group is the user's name. "": a plain name.
	Match string
	HTTP  *http.Client     // asks the provider; nil: one that gives up after ten seconds
	Now   func() time.Time // nil: time.Now
}

// User is whom a token names.
type User struct {
	Name    string
	Subject string // the provider's own word for the person
	Expires time.Time
}

// Verifier verifies the ID tokens of one provider for one client. It is safe for concurrent use.
type Verifier struct {
	Config
	match *regexp.Regexp
	keys  *keySet

	mu       sync.Mutex
	provider *oidc.Provider
	again    time.Time // the provider is not asked before
	failed   error     // why it could not be asked last
}

// plainName is a user's name as useradd takes it.
const plainName = `([a-z_][a-z0-9_-]{0,31})`

// New says what is wrong with c. It does not ask the provider: that is done when the first token comes.
func New(c Config) (*Verifier, error) {
	if c.Claim == "" {
		c.Claim = "preferred_username"
	}
	if c.Match == "" {
		c.Match = plainName
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	u, err := url.Parse(c.Issuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())):
		return nil, fmt.Errorf("invalid issuer %q: want https://HOST[/PATH]", c.Issuer)
	case c.ClientID == "":
		return nil, errors.New("client_id is missing: the name of fsub at the provider")
	}
	match, err := regexp.Compile(`^(?:` + c.Match + `)$`)
	if err != nil {
		return nil, fmt.Errorf("invalid match %q: %w", c.Match, err)
	}
	if match.NumSubexp() != 1 {
		return nil, fmt.Errorf("invalid match %q: want a regular expression with one group, which is the user's name", c.Match)
	}
	return &Verifier{Config: c, match: match, keys: &keySet{http: c.HTTP, now: c.Now}}, nil
}

// askAgain is how long a provider that did not answer, or has no key of a name, is left alone: anybody can send tokens that name some key.
const askAgain = 10 * time.Second

// Provider is the provider, with its endpoints; it is asked for them once.
func (v *Verifier) Provider(ctx context.Context) (*oidc.Provider, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.provider != nil {
		return v.provider, nil
	}
	now := v.Now()
	if v.failed != nil && now.Before(v.again) {
		return nil, v.failed
	}
	p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), v.HTTP), v.Issuer)
	if err == nil {
		var about struct {
			Keys string `json:"jwks_uri"`
		}
		if err = p.Claims(&about); err == nil {
			v.keys.at(about.Keys)
			v.provider = p
			return p, nil
		}
	}
	v.again, v.failed = now.Add(askAgain), fmt.Errorf("the OpenID provider %s does not answer as one: %w", v.Issuer, err)
	return nil, v.failed
}

// Verify returns the user whom an ID token names, if the provider has signed it for this client, it has not expired, and it has that nonce; "": any. Each error says
// what is wrong with the token.
func (v *Verifier) Verify(ctx context.Context, token, nonce string) (u User, err error) {
	if _, err := v.Provider(ctx); err != nil {
		return u, err
	}
	id, err := oidc.NewVerifier(v.Issuer, v.keys, &oidc.Config{ClientID: v.ClientID, Now: v.Now, SupportedSigningAlgs: algorithms}).Verify(ctx, token)
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return u, fmt.Errorf("the ID token has expired at %s; sign in again", expired.Expiry.UTC().Format(time.DateTime))
	case err != nil && strings.Contains(err.Error(), "audience"):
		return u, fmt.Errorf("the ID token is for another client than %s", v.ClientID)
	case err != nil && strings.Contains(err.Error(), "different provider"):
		return u, fmt.Errorf("the ID token is of another provider than %s", v.Issuer)
	case errors.Is(err, errNoAnswer):
		return u, fmt.Errorf("the OpenID provider %s does not tell its keys", v.Issuer)
	case err != nil:
		return u, fmt.Errorf("the ID token is not signed by %s", v.Issuer)
	case nonce != "" && id.Nonce != nonce:
		return u, errors.New("the ID token is that of another sign-in: its nonce differs")
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return u, fmt.Errorf("the ID token of %s cannot be read", v.Issuer)
	}
	return v.user(id, claims)
}

// user makes a user of a verified token.
func (v *Verifier) user(id *oidc.IDToken, claims map[string]any) (u User, err error) {
	value, is := claims[v.Claim].(string)
	found := v.match.FindStringSubmatch(value)
	verified, said := claims["email_verified"].(bool)
	switch {
	case !is:
		return u, fmt.Errorf("the ID token has no claim %s with a name", v.Claim)
	case v.Claim == "email" && !(said && verified):
		return u, errors.New("the ID token's email is not verified by the provider")
	case found == nil || found[1] == "":
		return u, fmt.Errorf("the ID token's claim %s is %.64q: that is no user by the rule of this daemon", v.Claim, value)
	}
	return User{Name: found[1], Subject: id.Subject, Expires: id.Expiry}, nil
}
