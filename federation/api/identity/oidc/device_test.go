package oidc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fsub/testbed/openid"
)

// A sign-in at a device waits until its code is confirmed, and is completed once.
func TestDevice(t *testing.T) {
	for _, secret := range []string{"", "s%cret"} {
		p := openid.Start(t)
		p.Devices.Secret, p.Devices.Interval = secret, 2
		if secret != "" {
			p.Devices.Secret = "s%25cret" // as RFC 6749 has it in basic authentication
		}
		v := verifier(t, Config{Issuer: p.Issuer, Secret: secret})
		d, err := v.Begin(t.Context())
		if err != nil || d.Interval != 2 || d.Expires != 600 || len(d.Code) != 9 || d.Page != p.Issuer+"/activate" || !strings.Contains(d.Direct, d.Code) {
			t.Fatalf("%+v, %v", d, err)
		}
		if u, err := v.Poll(t.Context(), d.Secret); !errors.Is(err, ErrPending) {
			t.Errorf("before it is confirmed: %+v, %v", u, err)
		}
		p.Devices.Confirm(d.Code, nil)
		if u, err := v.Poll(t.Context(), d.Secret); err != nil || u.Name != "alice" {
			t.Errorf("confirmed: %+v, %v", u, err)
		}
		if u, err := v.Poll(t.Context(), d.Secret); err == nil || !strings.Contains(err.Error(), "completed before") {
			t.Errorf("a second time: %+v, %v", u, err)
		}
	}
}

// Whatever a provider says instead of an ID token, and whatever is wrong with that, has its sentence; a provider that is away may be asked again.
func TestDeviceRefused(t *testing.T) {
	for says, change := range map[string]func(*openid.Provider){
		"has no device flow":                      func(p *openid.Provider) { p.Devices.Off = true },
		`begins no sign-in: "invalid_client"`:     func(p *openid.Provider) { p.Devices.Secret = "x" },
		"something else than RFC 8628":            func(p *openid.Provider) { p.Devices.Page = "javascript:alert(1)" },
		"answers a sign-in with":                  func(p *openid.Provider) { p.Devices.Page = "https://x.org/\x1b[2J" },
		"asked too often":                         func(p *openid.Provider) { p.Devices.Says = "slow_down" },
		"was refused at the provider's page":      func(p *openid.Provider) { p.Devices.Says = "access_denied" },
		"the code has expired":                    func(p *openid.Provider) { p.Devices.Says = "expired_token" },
		`refuses the sign-in: "invalid\x1b_scope`: func(p *openid.Provider) { p.Devices.Says = "invalid\x1b_scope" },
	} {
		p := openid.Start(t)
		change(p)
		v := verifier(t, Config{Issuer: p.Issuer})
		d, err := v.Begin(t.Context())
		if err == nil {
			_, err = v.Poll(t.Context(), d.Secret)
		}
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%v, want %q", err, says)
		}
	}
	p := openid.Start(t)
	v := verifier(t, Config{Issuer: p.Issuer})
	for says, claims := range map[string]map[string]any{
		"gave no ID token":          {"no ID token": 1},
		"for another client":        {"aud": "wiki"},
		"that is no user by the":    {"preferred_username": "al ice"},
		"the ID token has expired":  {"exp": time.Now().Add(-time.Minute).Unix()},
		"has no claim preferred_us": {"preferred_username": nil},
	} {
		d, err := v.Begin(t.Context())
		p.Devices.Confirm(d.Code, claims)
		if err == nil {
			_, err = v.Poll(t.Context(), d.Secret)
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	p.Down.Store(true)
	var silent *SilentError
	if _, err := v.Poll(t.Context(), "x"); !errors.As(err, &silent) || !strings.Contains(err.Error(), "does not answer: status 502") {
		t.Errorf("a provider that is away: %v", err)
	}
}
