package config

import (
	"strings"
	"testing"
)

// What the page needs is asked for before the daemon starts.
func TestWeb(t *testing.T) {
	const oidc = "oidc: {issuer: \"https://idp.example.org\", client_id: fsub}\n"
	for _, tt := range []struct{ text, want string }{
		{"web: {listen: \"127.0.0.1:8443\"}\n", ""},
		{"web: {address: \"https://a\"}\n", "listen is missing"},
		{"web: {listen: \"127.0.0.1:8443\", sign_in_with: Campus}\n", "there is no provider: set oidc"},
		{"web: {listen: \"127.0.0.1:8443\", sign_in_with: Campus}\n" + oidc, ""},
		{"web: {listen: \"127.0.0.1:8443\"}\n" + oidc, "nobody can sign in"},
		{"web: {proxy: {socket: /run/fsub/web.sock, user: www-data}}\n", ""},
		{"web: {proxy: {socket: /run/fsub/web.sock}}\n", "user is missing"},
		{"web: {proxy: {user: www-data}}\n", "socket is missing"},
		{"web: {proxy: {socket: /s, user: www-data, header: \"a b\"}}\n", "invalid header"},
		{"web: {address: \"https://a\", proxy: {socket: /s, user: www-data}}\n", "listen is missing"},
	} {
		_, err := Parse([]byte(tt.text))
		if got := ""; err != nil {
			if got = err.Error(); tt.want == "" || !strings.Contains(got, tt.want) {
				t.Errorf("%s: %s; want %q", tt.text, got, tt.want)
			}
		} else if tt.want != "" {
			t.Errorf("%s: taken; want %q", tt.text, tt.want)
		}
	}
}
