package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"fsub/federation/api/identity"
	"fsub/federation/api/identity/oidc"
	"fsub/federation/secret"
)

// OIDC is the OpenID provider by which users of other machines, and of the page, are identified: docs/login.md, docs/web.md. Not set: by none.
type OIDC struct {
	// Address of the provider, as its tokens have it: https://HOST[/PATH].
	Issuer string `yaml:"issuer,omitempty"`
	// Name of fsub at the provider: the audience of the tokens.
	ClientID string `yaml:"client_id,omitempty"`
	// Claim that names the user. preferred_username if not set.
	Claim string `yaml:"claim,omitempty"`
	// Regular expression for the whole of the claim, with one group, which is the user's name on the daemon's machine: "([a-z]+)@example\.org". Not set: the claim is the name.
	Match string `yaml:"match,omitempty"`
	// File with the secret by which the provider knows fsub, for sign-ins. Not set: fsub is a public client there.
	Secret string `yaml:"client_secret_file,omitempty"`
	// Highest scope of a token made by a sign-in at a terminal: read, submit or operate. submit if not set.
	Scope identity.Scope `yaml:"scope,omitempty"`
	// How long these tokens are good for, as 12h. 168h if not set.
	Lifetime time.Duration `yaml:"lifetime,omitempty"`
	// PEM file of the authorities that may have signed the provider's certificate. Not set: those that this machine trusts.
	CA string `yaml:"ca_file,omitempty"`
}

// Verifier verifies its tokens; nil: there is no provider.
func (o *OIDC) Verifier() (*oidc.Verifier, error) {
	if *o == (OIDC{}) {
		return nil, nil
	}
	secretText, err := o.secret()
	if err != nil {
		return nil, err
	}
	c := oidc.Config{Secret: secretText, Issuer: o.Issuer, ClientID: o.ClientID, Claim: o.Claim, Match: o.Match}
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("oidc: ca_file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("oidc: ca_file: there is no certificate in %s", o.CA)
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
		c.HTTP = &http.Client{Timeout: 10 * time.Second, Transport: transport}
	}
	v, err := oidc.New(c)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	return v, nil
}

func (o *OIDC) secret() (string, error) {
	if o.Secret == "" {
		return "", nil
	}
	err := secret.Check(o.Secret)
	if err != nil {
		return "", fmt.Errorf("oidc: client_secret_file: %w", err)
	}
	text, err := os.ReadFile(o.Secret)
	if s := strings.TrimSpace(string(text)); err == nil && s != "" {
		return s, nil
	}
	return "", fmt.Errorf("oidc: client_secret_file: there is no secret in %s", o.Secret)
}

func (o *OIDC) check(c *Config) error {
	if _, err := o.Verifier(); err != nil {
		return err
	}
	switch o.Scope {
	case "", identity.ScopeRead, identity.ScopeSubmit, identity.ScopeOperate:
	default:
		return fmt.Errorf("oidc: invalid scope %q: want read, submit or operate", o.Scope)
	}
	if o.Lifetime < 0 || o.Lifetime > 0 && o.Lifetime < time.Minute || o.Lifetime > 366*24*time.Hour {
		return fmt.Errorf("oidc: invalid lifetime %s: want a minute to a year", o.Lifetime)
	}
	if o.Issuer != "" && c.Remote.Listen == "" && c.Web.SignInWith == "" {
		return errors.New("oidc: nobody can sign in: no other machine reaches this daemon without remote: listen, and the page has no web: sign_in_with")
	}
	return nil
}
