package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/oauth2"
)

// Flow is a sign-in that has begun at a browser: OpenID Connect's code flow, with PKCE. Only the browser keeps it, so that any of several daemons completes it, and none has
// to remember those that were begun and left.
type Flow struct {
	State    string // comes back with the code: the browser that has begun is the one that ends it
	Nonce    string // comes back in the ID token: it is of this sign-in
	Verifier string // proves to the provider that the code was asked for here (RFC 7636)
}

// BeginAtBrowser begins a sign-in at a browser. The browser goes to an address of the provider, and comes back to back with a code.
func (v *Verifier) BeginAtBrowser(ctx context.Context, back string) (address string, f Flow, err error) {
	p, err := v.Provider(ctx)
	if err != nil {
		return "", f, err
	}
	at := p.Endpoint()
	if !webAddress(at.AuthURL) || at.TokenURL == "" {
		return "", f, fmt.Errorf("the OpenID provider %s has no sign-in for browsers", v.Issuer)
	}
	f = Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	c := oauth2.Config{ClientID: v.ClientID, RedirectURL: back, Endpoint: at, Scopes: []string{"openid", "profile", "email"}}
	return c.AuthCodeURL(f.State, oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("nonce", f.Nonce)), f, nil
}

// ErrOtherSignIn: what a browser brings back is not of the sign-in that it has begun.
var ErrOtherSignIn = errors.New("this sign-in was not begun at this browser, or too long ago; begin again")

// Complete exchanges what a browser brings back from the provider, to the same address, for an ID token, and returns the user whom it names.
func (v *Verifier) Complete(ctx context.Context, f Flow, back string, brought url.Values) (token string, u User, err error) {
	switch {
	case f.State == "" || f.Nonce == "" || subtle.ConstantTimeCompare([]byte(f.State), []byte(brought.Get("state"))) != 1:
		return "", u, ErrOtherSignIn
	case brought.Get("error") == "access_denied":
		return "", u, errors.New("the sign-in was refused at the provider's page")
	case brought.Get("error") != "":
		said := refusal{brought.Get("error"), brought.Get("error_description")}
		return "", u, fmt.Errorf("the OpenID provider %s refuses the sign-in: %s", v.Issuer, said.text())
	case brought.Get("code") == "":
		return "", u, errors.New("the OpenID provider sent no code; begin again")
	}
	p, err := v.Provider(ctx)
	if err != nil {
		return "", u, err
	}
	var at endpoints
	if err := p.Claims(&at); err != nil {
		return "", u, err
	}
	var got struct {
		Token string `json:"id_token"`
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {brought.Get("code")}, "redirect_uri": {back}, "code_verifier": {f.Verifier}}
	refused, err := v.post(ctx, at, at.Token, form, &got)
	switch {
	case err != nil:
		return "", u, err
	case refused.Error == "invalid_grant":
		return "", u, errors.New("the OpenID provider does not know the sign-in, or it was completed before; begin again")
	case refused.Error != "":
		return "", u, fmt.Errorf("the OpenID provider %s refuses the sign-in: %s", v.Issuer, refused.text())
	case got.Token == "":
		return "", u, fmt.Errorf("the OpenID provider %s gave no ID token: allow the scope openid for the client %s", v.Issuer, v.ClientID)
	}
	u, err = v.Verify(ctx, got.Token, f.Nonce)
	return got.Token, u, err
}
