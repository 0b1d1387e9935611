package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"fsub/federation/api/identity/oidc"
)

// OIDC is the OpenID provider whose ID tokens are taken for calls from other machines: docs/login.md. Not set: none's are.
type OIDC struct {
	// Address of the provider, as its tokens have it: https://HOST[/PATH].
	Issuer string `yaml:"issuer,omitempty"`
	// Name of fsub at the provider: the audience of the tokens.
	ClientID string `yaml:"client_id,omitempty"`
	// Claim that names the user. preferred_username if not set.
	Claim string `yaml:"claim,omitempty"`
	// Regular expression for the whole of the claim, with one group, which is the user's name on the daemon's machine: "([a-z]+)@example\.org". Not set: the claim is the name.
	Match string `yaml:"match,omitempty"`
	// PEM file of the authorities that may have signed the provider's certificate. Not set: those that this machine trusts.
	CA string `yaml:"ca_file,omitempty"`
}

// Verifier verifies its tokens; nil: there is no provider.
func (o *OIDC) Verifier() (*oidc.Verifier, error) {
	if *o == (OIDC{}) {
		return nil, nil
	}
	c := oidc.Config{Issuer: o.Issuer, ClientID: o.ClientID, Claim: o.Claim, Match: o.Match}
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

func (o *OIDC) check(c *Config) error {
	if _, err := o.Verifier(); err != nil {
		return err
	}
	if o.Issuer != "" && c.Remote.Listen == "" {
		return errors.New("oidc: no other machine reaches this daemon: set remote: listen")
	}
	return nil
}
