package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is wrong with a provider is said before the daemon starts, without asking it.
func TestOIDC(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	readable, private := filepath.Join(t.TempDir(), "readable"), filepath.Join(t.TempDir(), "private")
	for path, mode := range map[string]os.FileMode{readable: 0o644, private: 0o600} {
		if err := os.WriteFile(path, []byte("\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for says, o := range map[string]OIDC{
		"":                                {Issuer: "https://idp.example.org", ClientID: "fsub"},
		"oidc: invalid issuer":            {ClientID: "fsub"},
		"oidc: client_id is missing":      {Issuer: "https://idp.example.org"},
		"oidc: ca_file: open ":            {Issuer: "https://idp.example.org", ClientID: "fsub", CA: empty + ".none"},
		"oidc: ca_file: there is no cert": {Issuer: "https://idp.example.org", ClientID: "fsub", CA: empty},
		"oidc: client_secret_file: " + readable + " may be read": {Issuer: "https://idp.example.org", ClientID: "fsub", Secret: readable},
		"oidc: client_secret_file: there is no secret":           {Issuer: "https://idp.example.org", ClientID: "fsub", Secret: private},
		`oidc: invalid scope "root": want read, submit`:          {Issuer: "https://idp.example.org", ClientID: "fsub", Scope: "root"},
		"oidc: invalid lifetime 1s":                              {Issuer: "https://idp.example.org", ClientID: "fsub", Lifetime: time.Second},
	} {
		c := Default()
		c.Remote.Listen = ":6829"
		if err := o.check(&c); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	c := Default()
	if err := (&OIDC{Issuer: "https://idp.example.org", ClientID: "fsub"}).check(&c); err == nil || !strings.Contains(err.Error(), "nobody can sign in") {
		t.Errorf("without a listener: %v", err)
	}
	if err := (&OIDC{}).check(&c); err != nil {
		t.Error(err)
	}
}
