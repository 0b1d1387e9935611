package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Device is a sign-in that has begun on a device without a browser (RFC 8628): the user confirms its code at the provider's page, on whatever machine.
type Device struct {
	Secret   string `json:"device_code"` // for [Verifier.Poll]
	Code     string `json:"user_code"`
	Page     string `json:"verification_uri"`
	Direct   string `json:"verification_uri_complete"` // the page with the code in it; "": the provider has none
	Expires  int    `json:"expires_in"`                // in seconds
	Interval int    `json:"interval"`                  // between two polls, in seconds
}

var (
	// ErrPending: the user has not confirmed the code yet.
	ErrPending = errors.New("the code is not confirmed yet")
	// ErrSlowDown is ErrPending, and polls are to come five seconds later each from now on.
	ErrSlowDown = errors.New("the provider is asked too often")
)

// endpoints are what a provider says of itself, of which go-oidc keeps less.
type endpoints struct {
	Device string   `json:"device_authorization_endpoint"`
	Token  string   `json:"token_endpoint"`
	Auth   []string `json:"token_endpoint_auth_methods_supported"`
}

// Begin begins a sign-in.
func (v *Verifier) Begin(ctx context.Context) (d Device, err error) {
	at, err := v.endpoints(ctx)
	if err != nil {
		return d, err
	}
	refused, err := v.post(ctx, at, at.Device, url.Values{"scope": {"openid profile email"}}, &d)
	switch {
	case err != nil:
		return d, err
	case refused.Error != "":
		return d, fmt.Errorf("the OpenID provider %s begins no sign-in: %s", v.Issuer, refused.text())
	case d.Secret == "" || !onOneLine(d.Code) || !webAddress(d.Page) || d.Direct != "" && !webAddress(d.Direct) || d.Expires <= 0:
		return d, fmt.Errorf("the OpenID provider %s answers a sign-in with something else than RFC 8628 has", v.Issuer)
	}
	if d.Interval <= 0 {
		d.Interval = 5
	}
	return d, nil
}

// Poll returns the user who has confirmed the code, once. It is ErrPending or ErrSlowDown until then.
func (v *Verifier) Poll(ctx context.Context, secret string) (u User, err error) {
	at, err := v.endpoints(ctx)
	if err != nil {
		return u, err
	}
	var got struct {
		Token string `json:"id_token"`
	}
	refused, err := v.post(ctx, at, at.Token, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {secret}}, &got)
	if err != nil {
		return u, err
	}
	switch refused.Error {
	case "":
	case "authorization_pending":
		return u, ErrPending
	case "slow_down":
		return u, ErrSlowDown
	case "access_denied":
		return u, errors.New("the sign-in was refused at the provider's page")
	case "expired_token":
		return u, errors.New("the code has expired before it was confirmed; sign in again")
	case "invalid_grant":
		return u, errors.New("the OpenID provider does not know the sign-in, or it was completed before; sign in again")
	default:
		return u, fmt.Errorf("the OpenID provider %s refuses the sign-in: %s", v.Issuer, refused.text())
	}
	if got.Token == "" {
		return u, fmt.Errorf("the OpenID provider %s gave no ID token: allow the scope openid for the client %s", v.Issuer, v.ClientID)
	}
	return v.Verify(ctx, got.Token, "")
}

func (v *Verifier) endpoints(ctx context.Context) (at endpoints, err error) {
	p, err := v.Provider(ctx)
	if err != nil {
		return at, err
	}
	if err := p.Claims(&at); err != nil || at.Device == "" || at.Token == "" {
		return at, fmt.Errorf("the OpenID provider %s has no device flow: allow it for the client %s there, or give an ID token to fsub login", v.Issuer, v.ClientID)
	}
	return at, nil
}

// refusal is why a provider did not do what it was asked for, in OAuth's words; without Error it did.
type refusal struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func (r refusal) text() string {
	if r.Description == "" {
		return fmt.Sprintf("%.64q", r.Error)
	}
	return fmt.Sprintf("%.64q, %.200q", r.Error, r.Description)
}

const mostAnswer = 256 << 10

// post sends a form as the client that v is, and reads the answer into out. The error is of a provider that does not answer, which may be asked again.
func (v *Verifier) post(ctx context.Context, at endpoints, to string, form url.Values, out any) (refused refusal, err error) {
	form.Set("client_id", v.ClientID)
	basic := v.Secret != "" && (len(at.Auth) == 0 || slices.Contains(at.Auth, "client_secret_basic"))
	if v.Secret != "" && !basic {
		form.Set("client_secret", v.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return refused, v.silent(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if basic {
		r.SetBasicAuth(url.QueryEscape(v.ClientID), url.QueryEscape(v.Secret))
	}
	resp, err := v.HTTP.Do(r)
	if err != nil {
		return refused, v.silent(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return refused, v.silent(err)
	}
	if resp.StatusCode != http.StatusOK {
		if json.Unmarshal(text, &refused) != nil || refused.Error == "" {
			return refused, v.silent(fmt.Errorf("status %d", resp.StatusCode))
		}
		return refused, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return refused, v.silent(err)
	}
	return refused, nil
}

// SilentError says that a provider did not answer: the same may be asked again.
type SilentError struct {
	Issuer string
	Cause  error
}

func (e *SilentError) Error() string {
	return "the OpenID provider " + e.Issuer + " does not answer: " + e.Cause.Error()
}
func (e *SilentError) Unwrap() error { return e.Cause }

func (v *Verifier) silent(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // the address says nothing more
	}
	return &SilentError{v.Issuer, err}
}

// webAddress reports whether text is an address that a browser opens, on one line.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && onOneLine(text) && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// onOneLine reports whether a terminal shows text as it is.
func onOneLine(text string) bool {
	return text != "" && len(text) <= 2048 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
